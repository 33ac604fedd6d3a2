#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Runs parts of `make test`, two side by side, for either alone waits for the phone's clock much of the time. Their lines mix, and a failure is soon
# far up: the end of what each failed part said about it is said again last.
# usage: test-parts.sh MAKE PART…; each part's whole output is target/test/PART.log.
set -euo pipefail
make=$1
shift
logs=target/test
rm -rf "$logs"
mkdir -p "$logs"

# xargs and not -j2, whose tokens cargo would take part in.
if printf '%s\n' "$@" | xargs -P 2 -I PART bash -c 'set -o pipefail
	"$1" --no-print-directory "$2" 2>&1 | tee "$3/$2.log"
	status=$?
	((status == 0)) || touch "$3/$2.failed"
	echo "make test: $2 took $SECONDS s"
	exit $status' part "$make" PART "$logs"; then
	exit 0
fi
for failed in "$logs"/*.failed; do
	part=$(basename "$failed" .failed)
	echo
	echo "make test: $part failed; all it said: $logs/$part.log"
	# What panicked and its first words; the list of failed tests; other programs' errors.
	grep -aE -A 6 '^thread .* panicked at|^error(\[|:)|^fovea: |^FAILED |^not held' "$logs/$part.log" | cut -c 1-400 | tail -n 60 || true
	grep -aE '^test .* FAILED$' "$logs/$part.log" || true
	tail -n 3 "$logs/$part.log" | cut -c 1-400
done
exit 1
