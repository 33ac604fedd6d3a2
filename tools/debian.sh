#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Builds and tries this tree in fresh chroots of Debian, as somebody would who has just installed it and cloned the repository.
#   tools/debian.sh [SUITE...]        bookworm (12) and trixie (13)
# FOVEA_DEBIAN_RUN is what is done there, a line for the shell; by default make build, the tests that boot nothing, and one scenario.
# 13 has a rustc of its own. That of 12 is too old, as its users know, so the host's toolchain is lent to it. Crates are the host's too:
# they are fetched first, and cargo stays offline inside. What a chroot is made of is kept in the cache; the tree and all that is built
# are new each time, unless FOVEA_DEBIAN_KEEP=1 keeps target/. Needs root and mmdebstrap.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
run=${FOVEA_DEBIAN_RUN:-make build && make test-quick && target/*/release/fovea phone run crash}
[ $# -gt 0 ] || set -- bookworm trixie
command -v mmdebstrap >/dev/null || { echo "skipped: $*: no mmdebstrap here; apt-get install mmdebstrap" >&2; exit 0; }
[ "$(id -u)" = 0 ] || { echo "chroots need root; run: sudo env \"PATH=\$PATH\" \"HOME=\$HOME\" make test-debian" >&2; exit 3; }
cache=${FOVEA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fovea}/debian
mirror=$(sh "$here/tools/mirror.sh")
# sudo takes neither the path nor the home that rustup knows.
command -v cargo >/dev/null && command -v rustc >/dev/null || {
	echo "cargo is not in root's path; run: sudo env \"PATH=\$PATH\" \"HOME=\$HOME\" make test-debian" >&2
	exit 3
}
crates=${CARGO_HOME:-$HOME/.cargo}
toolchain=$(rustc --print sysroot)
mkdir -p "$cache"
(cd "$here" && cargo fetch --locked --quiet && cd lab/python && cargo fetch --locked --quiet)

for suite; do
	root=$cache/$suite
	case $suite in
	bookworm) rust= lent=/rust/bin: ;;
	*) rust=,cargo,rustc lent= ;;
	esac
	if [ ! -e "$root/made" ]; then
		rm -rf "$root"
		mmdebstrap --quiet --variant=minbase --include="ca-certificates,git,make$rust" "$suite" "$root" "$mirror"
		mkdir -p "$root/crates" "$root/rust" "$root/kernels"
		: >"$root/made"
	fi
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	# A mirror may be reached by a certificate that the host was given.
	[ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	if [ -n "${FOVEA_DEBIAN_KEEP:-}" ] && [ -d "$root/fovea" ]; then
		find "$root/fovea" -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +
	else
		rm -rf "$root/fovea"
		mkdir "$root/fovea"
	fi
	# What git knows, as it is now.
	(cd "$here" && git ls-files -z | tar --null --files-from=- --create) | tar -x --no-same-owner -C "$root/fovea"
	echo "== $suite: $run"
	# Mounts of its own, which go with it.
	ROOT=$root CRATES=$crates TOOLCHAIN=$toolchain RUN=$run LENT=$lent unshare --mount --propagation private sh -ec '
		mount --rbind /dev "$ROOT/dev"
		mount -t proc proc "$ROOT/proc"
		mount -t sysfs -o ro sysfs "$ROOT/sys"
		mount --bind "$CRATES" "$ROOT/crates"
		[ -z "$LENT" ] || mount --bind -o ro "$TOOLCHAIN" "$ROOT/rust"
		exec chroot "$ROOT" env -i HOME=/root TERM=dumb "PATH=$LENT/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
			CARGO_HOME=/crates CARGO_NET_OFFLINE=true FOVEA_CACHE=/kernels sh -ec "cd /fovea; cargo --version; $RUN" </dev/null
	'
	echo "== $suite: done"
done
