#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Builds the programs that proof/tests/filesystems runs (fsx, fsstress, the tests of asynchronous direct requests) from a checkout of xfstests,
# which stays as it is:  tools/xfstests.sh CHECKOUT
# Debian does not package xfstests; its home is https://git.kernel.org/pub/scm/fs/xfs/xfstests-dev.git. Prints the folder they are in.
set -eu
[ $# = 1 ] || { echo "usage: tools/xfstests.sh CHECKOUT" >&2; exit 2; }
[ -f "$1/ltp/fsx.c" ] || {
	echo "$1 is no checkout of xfstests: git clone https://git.kernel.org/pub/scm/fs/xfs/xfstests-dev.git, and name its folder" >&2
	exit 3
}
source=$(cd "$1" && pwd)
cache=${FOVEA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fovea}/xfstests
sh "$(dirname "$0")/setup.sh" xfstests >&2
rm -rf "$cache"
mkdir -p "$cache/programs"
(cd "$source" && tar -c --exclude=.git --exclude=./tests .) | tar -x -C "$cache"
log=$cache/log
cd "$cache"
# Its Makefile wants the tests, too; only what is needed is made.
{ make configure && ./configure && make -C include && make -C lib && make -C ltp fsx fsstress && make -C src/aio-dio-regress; } >"$log" 2>&1 || {
	tail -5 "$log" >&2
	echo "xfstests does not build; all that was said is in $log" >&2
	exit 1
}
for program in ltp/fsx ltp/fsstress src/aio-dio-regress/aio*; do
	# Libtool's own are scripts beside the programs.
	[ -x "$program" ] && [ -f "$program" ] && [ "$(head -c 4 "$program" | tail -c 3)" = ELF ] && cp "$program" programs/
done
echo "$cache/programs"
