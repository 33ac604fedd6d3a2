#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What `make install` would put where, with empty files as programs: nothing needs to be built for it.
#   tools/staged.sh stage MAKE FOLDER TARGET... [VARIABLE=VALUE...]   puts it into FOLDER
#   tools/staged.sh uninstall MAKE DESTDIR PREFIX LIBDIR              removes it from there, and the folders that are then empty
set -eu
cd "$(dirname "$0")/.."
what=$1 make=$2 folder=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

stage() { # stage FOLDER WORDS...
	to=$1
	shift
	mkdir -p "$scratch/built"
	for program in fovea fovea-small fovea-guest fovea-top fovea-metrics fovea-bus fovea-prefetch libfovea-heap.so.0 libfovea-heap.a; do
		: >"$scratch/built/$program"
		chmod 755 "$scratch/built/$program"
	done
	"$make" --no-print-directory "$@" DESTDIR="$to" RELEASE="$scratch/built" FOVEA="$scratch/built/fovea" SMALL="$scratch/built/fovea-small" \
		HEAP_LIBRARY="$scratch/built" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}

if [ "$what" = stage ]; then
	stage "$(realpath -m "$folder")" "$@"
	exit
fi
prefix=$1 libdir=$2
targets=install-small
[ ! -x "$folder$prefix/lib/fovea/fovea-top" ] || targets=install-extra
[ ! -x "$folder$prefix/lib/fovea/fovea-lab" ] || targets=install
stage "$scratch/staged" $targets PREFIX="$prefix" LIBDIR="$libdir"
cd "$scratch/staged"
find . ! -type d | sed 's|^\.||' | while read -r file; do rm -f "$folder$file"; done
find . -mindepth 1 -depth -type d | sed 's|^\.||' | while read -r path; do
	# On a machine some folders are the distribution's, and may be empty without us.
	case $path in
	*fovea*) ;;
	# Where there are hooks for it, that package has the folders.
	/usr/share/initramfs-tools*) [ ! -e /usr/share/initramfs-tools/hook-functions ] || continue ;;
	/usr/lib/dracut*) [ ! -e /usr/lib/dracut/dracut-functions.sh ] || continue ;;
	/usr/lib/initcpio*) [ ! -e /usr/lib/initcpio/functions ] || continue ;;
	"$prefix"/share/man) [ -n "$folder" ] || continue ;;
	"$prefix"/*/*) [ -n "$folder" ] || [ "$prefix" != /usr ] || continue ;;
	*) [ -n "$folder" ] || continue ;;
	esac
	rmdir "$folder$path" 2>/dev/null || true
done
