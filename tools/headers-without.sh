#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Copies a folder of kernel headers with options switched off, as vendors' kernels have them, so that modules can be built against it:
# their code sees the configuration, and what depends on these options is not declared.
#   tools/headers-without.sh HEADERS NEW OPTION...      options without CONFIG_; those that begin so and depend on it must be named, too
# The copy is NEW/usr/src/NAME, NAME being the last part of HEADERS, in a tree that has the same neighbours.
set -eu
[ $# -ge 3 ] || { sed -n '3,6s/^# *//p' "$0" >&2; exit 2; }
headers=$1 new=$2
shift 2
name=$(basename "$headers") around=$(cd "$headers/../.." && pwd)
[ -f "$headers/include/generated/autoconf.h" ] || { echo "$headers are no kernel's headers: no include/generated/autoconf.h" >&2; exit 1; }
mkdir -p "$new/usr/src"
for neighbour in "$around"/src/*; do [ "$neighbour" -ef "$headers" ] || ln -s "$neighbour" "$new/usr/src/"; done
[ ! -d "$around/lib" ] || ln -s "$around/lib" "$new/usr/lib"
cp -a "$headers" "$new/usr/src/"
copy=$new/usr/src/$name
for option; do
	grep -q "^#define CONFIG_$option 1\$" "$copy/include/generated/autoconf.h" || continue
	sed -i "/^#define CONFIG_$option 1\$/d" "$copy/include/generated/autoconf.h"
	sed -i "/^CONFIG_$option=y\$/d" "$copy/include/config/auto.conf"
	! [ -f "$copy/.config" ] || sed -i "s/^CONFIG_$option=y\$/# CONFIG_$option is not set/" "$copy/.config"
done
echo "$copy"
