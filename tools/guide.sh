#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# usage: guide.sh PROGRAM
# Tests the commands of docs/: the fenced blocks that say how, behind their language.
#   sh run       run as they stand, without root, in an empty folder
#   sh daemon    the same, beside a daemon that knows no app and changes nothing; with sudo, for only root may ask it
#   sh parse     commands of fovea, whose words the program's own parser takes
#   sh make      targets of the Makefile
#   sh root      what needs root or hardware: names of units, modules, their parameters, targets and
#                packages are looked up in this tree; what is not of this tree is counted
#   toml config  a configuration that the program takes
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
daemon=
trap 'if [ -n "$daemon" ]; then kill "$daemon" && wait "$daemon" || true; fi; rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/work" "$scratch/run"
ln -s "$program" "$scratch/bin/fovea"
# Only root may ask the daemon; here it is that of whoever tests.
printf '#!/bin/sh\nexec "$@"\n' >"$scratch/bin/sudo"
chmod 755 "$scratch/bin/sudo"
PATH="$scratch/bin:$PATH"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
checked=0 others=0 failed=0

wrong() { # wrong WHERE WHAT
	echo "$1: $2" >&2
	failed=1
}

# Every block as files: WHERE (page:line), its mark, its lines with continued ones joined.
awk -v folder="$scratch" '
	/^```[a-z]+ [a-z]+$/ {
		n++; mark = substr($0, 4); base = folder "/" sprintf("%04d", n)
		print FILENAME ":" FNR > (base ".where"); print mark > (base ".mark"); printf "" > (base ".text"); next
	}
	/^```/ { if (base != "") close(base ".text"); base = ""; next }
	base != "" { if (sub(/\\$/, "")) printf "%s", $0 > (base ".text"); else print > (base ".text") }
' README.md docs/guide/*.md docs/design/*.md

# The parser sees --help last, when it has taken the words before it.
parses() { # parses WHERE WORDS...
	where=$1
	shift
	[ "$1" = sudo ] && shift
	[ "$1" = fovea ] || { wrong "$where" "not a command of fovea: $*"; return; }
	shift
	said=$(
		for word; do
			[ "$word" = -- ] && break
			set -- "$@" "$word"
			shift_by=$((${shift_by:-0} + 1))
		done
		shift $(($# - ${shift_by:-0}))
		fovea "$@" --help 2>&1 >/dev/null </dev/null
	) || wrong "$where" "$said"
}

looks_up() { # looks_up WHERE WORDS...
	where=$1
	shift
	[ "$1" = sudo ] && shift
	case $1 in
	fovea) parses "$where" "$@" ;;
	make) grep -q "^$2:" Makefile || wrong "$where" "the Makefile has no target $2" ;;
	systemctl)
		for word; do
			case $word in
			systemctl | enable | reload | edit | --*) ;;
			fovea*)
				unit=${word%%@*}
				case $word in *@*) unit=$unit@ ;; esac
				# The Makefile makes these of fovea-session@.
				case $unit in fovea-kde@ | fovea-gnome@ | fovea-auto@) unit=fovea-session@ ;; esac
				[ -e "packaging/$unit.service" ] || [ -e "packaging/user/$unit.service" ] ||
					[ -e "packaging/metrics/$unit" ] ||
					wrong "$where" "no unit $unit is in packaging/"
				;;
			*) others=$((others + 1)) ;;
			esac
		done
		;;
	modprobe)
		grep -rqE "(^|[ =])$2\.o" kmod --include=Kbuild --include=Makefile || wrong "$where" "kmod/ builds no module $2"
		shift 2
		for word; do
			grep -rqw "${word%%=*}" kmod/include/contract.h || wrong "$where" "no module has a parameter ${word%%=*}"
		done
		;;
	dkms) case "$*" in *fovea/$version*) ;; *) wrong "$where" "this is fovea/$version" ;; esac ;;
	dmsetup)
		case "$*" in
		*" --table "*) case "$*" in *" ecache "* | *" aciom "*) ;; *) wrong "$where" "no such target in kmod/" ;; esac ;;
		esac
		;;
	*) others=$((others + 1)) ;;
	esac
}

# As the daemon's own tests start it: without swap and without looking for apps.
for part in zram disk net merge tier; do printf '[%s]\nenabled = false\n' "$part"; done >"$scratch/daemon.toml"
printf '[daemon]\ndiscover = false\nwindows_make_apps = false\n' >>"$scratch/daemon.toml"
export FOVEA_RUN="$scratch/run"
fovea run --config "$scratch/daemon.toml" >"$scratch/daemon.said" 2>&1 </dev/null &
daemon=$!
tries=0
until fovea status >/dev/null 2>&1; do
	tries=$((tries + 1))
	kill -0 "$daemon" 2>/dev/null && [ "$tries" -lt 300 ] || {
		echo "the daemon for the guides does not answer: $(tail -n 1 "$scratch/daemon.said")" >&2
		exit 1
	}
	sleep 0.1
done

for mark in "$scratch"/*.mark; do
	base=${mark%.mark} where=$(cat "${mark%.mark}.where")
	case $(cat "$mark") in
	"sh run" | "sh daemon")
		checked=$((checked + 1))
		(cd "$scratch/work" && timeout 120 sh -e "$base.text" >"$base.said" 2>&1 </dev/null) ||
			wrong "$where" "failed: $(tail -n 1 "$base.said")"
		;;
	"toml config")
		checked=$((checked + 1))
		said=$(fovea --config "$base.text" simulate 2>&1 </dev/null) || true
		case $said in *"$base.text"*) wrong "$where" "${said#*.text:}" ;; esac
		;;
	"sh parse" | "sh root" | "sh make")
		kind=$(cat "$mark")
		sed 's/  *# .*//; s/$(\([^)]*\))/COMPUTED/g; s/ && /\n/g; s/ | /\n/g; /^$/d' "$base.text" >"$base.lines"
		while read -r line; do
			checked=$((checked + 1))
			# Only words are looked at; nothing of the line may be done.
			case $line in *[\;\|\&\<\>\`\$]*) wrong "$where" "not one plain command: $line"; continue ;; esac
			eval "set -- $line"
			case $kind in
			"sh parse") parses "$where" "$@" ;;
			*) looks_up "$where" "$@" ;;
			esac
		done <"$base.lines"
		;;
	*) ;;
	esac
done
[ "$checked" -gt 50 ] || wrong docs "only $checked commands were found; are their blocks still marked?"
[ "$failed" = 0 ] && echo "guides: $checked commands and configurations hold; of the root's, $others are not of this tree and were not tried"
exit "$failed"
