#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Prints kmod/dkms.conf as it is installed: tools/dkms-conf.sh VERSION. The kernels are those of kmod/kernels.txt.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
lines=$(sed -n 's/^\([0-9][0-9.]*\)[[:space:]].*/\1/p' "$here/kmod/kernels.txt" | sed 's/\./\\\\./g' | paste -sd'|')
[ -n "$lines" ] || { echo "$here/kmod/kernels.txt names no line of kernels" >&2; exit 1; }
words=$(sed -n 's/^\([0-9][0-9.]*\)[[:space:]].*/\1/p' "$here/kmod/kernels.txt" | paste -sd' ' | sed 's/ /, /g')
sed "s/@VERSION@/$1/; s/@KERNELS@/$lines/; s/@LINES@/$words/" "$here/kmod/dkms.conf"
