#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Counts the instructions of the cores' operations with callgrind. Needs valgrind.
set -eu
cd "$(dirname "$0")"
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
triple=$(rustc -vV | sed -n 's/^host: //p')
# callgrind finds functions by their names.
export CARGO_PROFILE_RELEASE_STRIP=none
cargo build --quiet --release --target "$triple" --package fovea-core --example ecache_instructions --example aciom_instructions
program=$target/$triple/release/examples/ecache_instructions

# Instructions in FUNCTION, per unit, over UNITS units.
count() { # label what rounds function units
	total=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="$4" "$program" "$2" "$3" 2>&1 |
		sed -n 's/.*Collected : //p')
	printf '%-52s %9d\n' "$1" "$((total / $5))"
}

printf '%-52s %9s\n' 'Nexus S layout, 23,040 frames' 'insns'
# The other modes fill the cache by put first: subtracting that leaves the evicting puts.
filled=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=ecache_put "$program" put 0 2>&1 |
	sed -n 's/.*Collected : //p')
both=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=ecache_put "$program" put 100000 2>&1 |
	sed -n 's/.*Collected : //p')
printf '%-52s %9d\n' 'put, evicting the oldest page' "$(((both - filled) / 100000))"
count 'put, into a free frame' refill 20000 ecache_put 20000
count 'get, hit' get 20000 ecache_get 20000
for policy in static random count lru aged; do
	count "alloc of 70 of 90 MB (mfc0 and mfc1), cache full: $policy" $policy 4 ecache_alloc_region 4
done
count 'sweep of the 17,920 tombstones that this leaves' sweep 4 ecache_sweep 4
count 'free of the same 70 MB, swept' sweep 4 ecache_free_region 4
count 'free of the same 70 MB, not swept' aged 4 ecache_free_region 4

# All calls that a request takes part in. The other modes first make 16 apps known: subtracting that leaves the requests.
calls='--toggle-collect=aciom_enqueue --toggle-collect=aciom_dispatch --toggle-collect=aciom_complete'
request() { # label what
	program=$target/$triple/release/examples/aciom_instructions
	for rounds in 0 1000; do
		# shellcheck disable=SC2086 # three words
		total=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null $calls "$program" "$2" "$rounds" 2>&1 |
			sed -n 's/.*Collected : //p')
		[ "$rounds" != 0 ] || none=$total
	done
	printf '%-52s %9d\n' "$1" "$(((total - none) / 1000))"
}

printf '\n%-52s %9s\n' 'Aciom, arrival to completion' 'insns'
request 'nobody time-sensitive' free
request 'plain, 8 time-sensitive and 8 bursty apps active' plain
request 'time-sensitive, beside as many' sensitive
request 'bursty, beside as many' bursty
