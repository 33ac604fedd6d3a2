#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Exact mode is exact: the same plan, booted twice, reports the same events to the byte.
# Usage: tools/same-twice.sh FOVEA RESULTS-FOLDER
set -eu
fovea=$1 results=$2
for run in first second; do
	"$fovea" phone run workload launches=6 --exact --jobs 2 --results "$results/$run" 'configurations=["zram","fovea"]' >"$results.$run.out" 2>&1 || {
		# Relaunch verdicts need more launches than this; a boot that failed has no complete event log.
		grep -q '^holds  boots-completed' "$results.$run.out" || { cat "$results.$run.out" >&2; exit 1; }
	}
done
for log in "$results"/first/*/events.jsonl; do
	other=$results/second/${log#"$results"/first/}
	cmp "$log" "$other" || { echo "exact mode differs between two runs: $log $other" >&2; exit 1; }
	[ "$(wc -l <"$log")" -gt 20 ] || { echo "$log: too short to show anything" >&2; exit 1; }
done
echo "exact mode: $(ls -d "$results"/first/*/ | wc -l) boots, twice, the same to the byte"
