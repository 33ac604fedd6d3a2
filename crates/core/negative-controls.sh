#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Builds the cores broken on purpose, once for each way to break one, and runs its tests, which must fail each time.
# Exits 1 if a broken core passes.   negative-controls.sh [CONTROL...]
set -eu
cd "$(dirname "$0")"
passed=0
[ $# -gt 0 ] || set -- get alloc free place tombstone sum salvage protect renumber pin retire floor urgent drop edf credit limit window open room charge reads writes
for control; do
	case $control in
	floor | urgent | drop | edf | credit | limit | window | open | room | charge | reads | writes) tests='aciom_model aciom_disk' ;;
	*) tests='differential guarantee' ;;
	esac
	# A build that fails, or a test that is not there, proves nothing: it ends the script here.
	cargo test --quiet --package fovea-core --features "broken-$control" $(printf ' --test %s' $tests) --no-run
	for test in $tests; do
		if log=$(PROPTEST_FAILURE_PERSISTENCE=off timeout 600 cargo test --quiet --package fovea-core \
			--features "broken-$control" --test "$test" 2>&1); then
			verdict="passes"
		else
			verdict="fails: $(printf '%s\n' "$log" |
				grep -aE 'Test failed: |core \(signal|panicked at|process didn|timed' -A1 |
				grep -avE '^--|panicked at' | head -n 1 | cut -c 1-150)"
			eval "caught_$control=1"
		fi
		printf '%-10s %-13s %s\n' "$control" "$test" "$verdict"
	done
	eval "caught=\${caught_$control:-0}"
	if [ "$caught" = 0 ]; then
		echo "broken-$control was NOT caught by any test" >&2
		passed=1
	fi
done
exit $passed
