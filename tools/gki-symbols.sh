#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Which of the kernel's symbols the modules use, and which of them a vendor's kernel does not offer: a table in Markdown.
#   tools/gki-symbols.sh FOLDER NAME=LIST[,LIST...]...
# FOLDER has built modules (*.ko). A LIST is a symbol list of Android's generic kernel image (android/abi_gki_aarch64*, or
# gki/aarch64/symbols/* since 6.12), its whole ABI (*.stg), or a Module.symvers. What a kernel offers is all of its lists together.
# Exit code 1: something is missing.
set -eu
[ $# -ge 2 ] || { sed -n '4,7s/^# *//p' "$0" >&2; exit 2; }
folder=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Used by a module, and by none of them defined.
find "$folder" -name '*.ko' ! -path '*/test/*' | sort >"$work/modules"
[ -s "$work/modules" ] || { echo "$folder has no built module: run make modules" >&2; exit 2; }
while read -r module; do
	name=$(basename "$module" .ko)
	nm --defined-only "$module" | sed -n 's/.* __ksymtab_\([A-Za-z0-9_]*\)$/\1/p' >>"$work/own"
	nm -u "$module" | sed -n "s/^ *[Uw] \([A-Za-z0-9_]*\)\$/\1 $name/p" >>"$work/used.all"
done <"$work/modules"
sort -u "$work/own" >"$work/own.sorted"
sort -u "$work/used.all" | join -v 1 - "$work/own.sorted" >"$work/used"

symbols() { # symbols LIST: those it offers
	[ -r "$1" ] || { echo "cannot read $1" >&2; exit 2; }
	case $1 in
	*.stg) sed -n 's/^  name: "\([A-Za-z0-9_]*\)"$/\1/p' "$1" ;;
	*symvers) awk '{ print $2 }' "$1" ;;
	*) sed -n 's/^[[:space:]][[:space:]]*\([A-Za-z0-9_]*\)[[:space:]]*$/\1/p' "$1" ;;
	esac
}

failed=0
echo '| kernel | module | symbols used | not offered |'
echo '|---|---|--:|---|'
for kernel; do
	name=${kernel%%=*} lists=${kernel#*=}
	case $kernel in *?=?*) ;; *) echo "$kernel: write NAME=LIST" >&2; exit 2 ;; esac
	: >"$work/offered.all"
	echo "$lists" | tr , '\n' >"$work/lists"
	while read -r list; do symbols "$list" >>"$work/offered.all"; done <"$work/lists"
	sort -u "$work/offered.all" >"$work/offered"
	[ -s "$work/offered" ] || { echo "$kernel: no symbol in it" >&2; exit 2; }
	while read -r module; do
		module=$(basename "$module" .ko)
		awk -v module="$module" '$2 == module { print $1 }' "$work/used" >"$work/of"
		missing=$(join -v 1 "$work/of" "$work/offered" | sed 's/.*/`&`/' | paste -s -d ' ' -)
		[ -z "$missing" ] || failed=1
		echo "| $name | \`$module\` | $(wc -l <"$work/of") | ${missing:-none} |"
	done <"$work/modules"
done
exit "$failed"
