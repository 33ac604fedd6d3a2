#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Builds Debian's packages of this tree in chroots of Debian 12 and 13, has lintian look at them, and tries them on a machine of that Debian which
# has never had any: installed, used, upgraded, removed, purged (tools/debian-try.sh). As root, with mmdebstrap.
#   tools/debian-packages.sh [SUITE...]        bookworm (12) and trixie (13)
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || set -- bookworm trixie
command -v mmdebstrap >/dev/null || { echo "skipped: packages for $*: no mmdebstrap here; apt-get install mmdebstrap" >&2; exit 0; }
cache=${FOVEA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fovea}/debian
tools='dpkg-dev debhelper dh-dkms gcc libc6-dev python3 lintian'
# Who packages here is nobody with an address.
nobody=bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact
for suite; do
	FOVEA_DEBIAN_RUN="export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $tools >/dev/null
		make package-deb >/packages.log 2>&1 || { tail -n 30 /packages.log; exit 1; }
		lintian --allow-root --fail-on error,warning --suppress-tags $nobody target/deb/*.changes" "$here/tools/debian.sh" "$suite"
	root=$cache/$suite-machine
	if [ ! -e "$root/made" ]; then
		rm -rf "$root"
		mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv,dbus,libpam-systemd,sudo,ca-certificates "$suite" "$root" \
			"$(sh "$here/tools/mirror.sh")"
		: >"$root/made"
	fi
	echo "== $suite: packages on a fresh machine"
	"$here/tools/debian-machine.sh" "$root" "$cache/$suite/fovea/target/deb" "$here/tools/debian-try.sh"
done
