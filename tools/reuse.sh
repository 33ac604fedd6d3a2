#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Says whether every file has a licence and a copyright, with the `reuse` tool in an environment of
# its own under target/. Without Python or the package index it is skipped, with a word.
set -eu
cd "$(dirname "$0")/.."
venv=target/reuse
lacks() {
	echo "reuse: skipped, $1"
	exit 0
}
[ -x "$venv/bin/reuse" ] || {
	python3 -m venv "$venv" >/dev/null 2>&1 || lacks "no virtual environments here; apt-get install python3-venv"
	"$venv/bin/pip" --quiet --disable-pip-version-check install 'reuse==6.2.0' >"$venv/pip.log" 2>&1 ||
		lacks "it cannot be had ($(tail -n 1 "$venv/pip.log"))"
}
"$venv/bin/reuse" lint --quiet || { "$venv/bin/reuse" lint | tail -n 30 >&2; exit 1; }
