#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Checks the pages of docs/ and those at the top: every link leads somewhere, lines are short, a
# design page is one page, all but history is bounded, and no page but history tells of dates.
# Every page that code, tests, tools or messages name is there.
set -eu
cd "$(dirname "$0")/.."
words_of_design=1500 words_of_all=45000 columns=100
pages=$(git ls-files --cached --others --exclude-standard -- '*.md' | grep -v '^target/')
current=$(echo "$pages" | grep -E '^(docs/|[A-Z]+\.md)' | grep -v '^docs/history/')
failed=0
wrong() {
	echo "$1" >&2
	failed=1
}

# Links: LINK\tPAGE:LINE of each; a heading is linked as the forge writes it.
links() {
	awk '/^```/ { code = !code } !code {
		text = $0
		while (match(text, /\]\([^) ]+\)/)) {
			link = substr(text, RSTART + 2, RLENGTH - 3); text = substr(text, RSTART + RLENGTH)
			if (link !~ /^[a-z]+:/) print link "\t" FILENAME ":" FNR
		}
	}' $pages
}
has_heading() { # has_heading PAGE ANCHOR
	awk -v anchor="$2" '
		/^```/ { code = !code }
		!code && /^#+ / {
			sub(/^#+ /, ""); gsub(/\[|\]\([^)]*\)/, ""); $0 = tolower($0)
			gsub(/[^a-z0-9 _-]/, ""); gsub(/ /, "-")
			if ($0 == anchor) found = 1
		}
		END { exit !found }' "$1"
}
list=$(mktemp)
trap 'rm -f "$list"' EXIT
links >"$list"
while IFS='	' read -r link where; do
	path=${link%%#*} page=${where%%:*}
	target=$page
	[ -z "$path" ] || target=$(dirname "$page")/$path
	if [ ! -e "$target" ]; then
		wrong "$where: $link leads nowhere"
	elif [ "$link" != "$path" ]; then
		case $target in
		*.md) has_heading "$target" "${link#*#}" || wrong "$where: no heading is linked as $link" ;;
		esac
	fi
done <"$list"

# Tables are as wide as they are, and what is generated is another's.
LC_ALL=C awk -v most=$columns '
	/^<!-- begin: |: generated -->$/ { made = 1 } /^<!-- end -->|^<!-- generated: end -->/ { made = 0 }
	FNR == 1 { made = 0; code = 0 }
	/^```/ { code = !code }
	{ shown = $0; gsub(/[\200-\277]/, "", shown) } # a letter of several bytes is one column
	!made && !code && length(shown) > most && !/^\|/ && !/^<!--/ { print FILENAME ":" FNR ": over " most " columns"; bad = 1 }
	END { exit bad }' $current >&2 || failed=1

for page in docs/design/*.md; do
	words=$(awk '/: generated -->$/ { made = 1 } !made; /^<!-- generated: end/ { made = 0 }' "$page" | wc -w)
	[ "$words" -le $words_of_design ] || wrong "$page: $words words; a design page has $words_of_design at most"
done
words=$(echo "$current" | grep '^docs/' | xargs cat | wc -w)
[ "$words" -le $words_of_all ] || wrong "docs: $words words beside history, of $words_of_all at most"

grep -nE '\b20[0-9]{2}-[0-9]{2}-[0-9]{2}|(January|February|March|April|June|July|August|September|October|November|December) 20[0-9]{2}|\b[0-9]{1,2} (January|February|March|April|June|July|August|September|October|November|December)\b|[Bb]y hand, (on|the same)' \
	$(echo "$current" | grep '^docs/') >&2 && wrong "docs: a page but history names no date and no measurement by hand"

git grep -noE 'docs/[a-z/-]+\.(md|json|svg)' -- ':!docs' ':!*.md' | sed 's/^\([^:]*:[0-9]*\):\(.*\)$/\2\t\1/' >"$list"
while IFS='	' read -r path where; do
	case $where in proof/report/src/docs*) continue ;; esac # of examples
	[ -e "$path" ] || wrong "$where: $path is not there"
done <"$list"

[ "$failed" = 0 ] && echo "docs: $words words beside history; links, lengths and names hold"
exit "$failed"
