#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Tries the hook with messages that are right and wrong; part of `make check-style`.
set -eu

hook=$(dirname "$0")/commit-msg
file=$(mktemp)
trap 'rm -f "$file"' EXIT
failed=0
try() { # try right|wrong MESSAGE
	printf "$2" >"$file"
	if sh "$hook" "$file" 2>/dev/null; then found=right; else found=wrong; fi
	[ "$found" = "$1" ] || { echo "tools/hooks/commit-msg takes as $found: $2" >&2; failed=1; }
}

long=$(printf '%060d' 0 | tr 0 x)
try right 'ecache: give each volume a lock\n\nWhy.\n'
try wrong 'merge: add lists\n'
try wrong 'merge: add lists\n\n# only a comment\n'
try right 'Merge branch x\n'
try right '# a comment\necache core: keep one frame\n\nWhy.\n'
try right "a: $long 12345678\n\nWhy.\n"
try wrong "a: $long 123456789\n\nWhy.\n"
try wrong 'Fix things\n\nWhy.\n'
try wrong 'ecache: Give each volume a lock\n\nWhy.\n'
try wrong 'ecache: give each volume a lock.\n\nWhy.\n'
try wrong 'ecache: give each volume a lock\nand more\n'
try wrong '\n'
exit $failed
