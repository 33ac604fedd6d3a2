#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# usage: reproducible.sh MAKE PROGRAM
# Builds what goes on a device from two copies of the committed sources in folders of different names,
# and says whether the programs and the library are equal to the byte.
set -eu
make=$1 program=$2
top=$(cd "$(dirname "$0")/.." && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
FOVEA_COMMIT=$(git -C "$top" describe --always --dirty --abbrev=12 --exclude='*')
export FOVEA_COMMIT
for folder in one a-longer-name; do
	mkdir "$made/$folder"
	git -C "$top" archive HEAD | tar -x -C "$made/$folder"
	"$make" --no-print-directory -C "$made/$folder" small >"$made/$folder.log" 2>&1 || { tail -n 20 "$made/$folder.log" >&2; exit 1; }
done
for file in "$program" "$(dirname "$program")/../libfovea-heap/libfovea-heap.so.0"; do
	cmp "$made/one/$file" "$made/a-longer-name/$file" || { echo "$file differs between two folders" >&2; exit 1; }
	if grep -aqF "$made" "$made/one/$file"; then echo "$file names the folder it was built in" >&2; exit 1; fi
done
echo "equal in two folders: $program and libfovea-heap.so.0"
