#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Installs what building and running the virtual phone needs and this machine lacks; with `tests`, `tests-pc`, `xfstests`, `debug-kernel`, or
# `arm TARGET` (a machine of ARM, by Rust's name of it) also what those need. Says nothing when all is there. Never a kernel.
set -eu

packages=
need() { # need PACKAGE COMMAND-OR-FILE
	case $2 in
	/*) [ -e "$2" ] || packages="$packages $1" ;;
	*) command -v "$2" >/dev/null 2>&1 || packages="$packages $1" ;;
	esac
}

need qemu-system-x86 qemu-system-x86_64
need gcc gcc
need make make
need e2fsprogs /sbin/mkfs.ext4
need libc6-dev /usr/include/stdio.h
need debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg
if [ "${1:-}" = tests ]; then
	# File systems that the tests put on dm-ecache.
	need xfsprogs /usr/sbin/mkfs.xfs
	need btrfs-progs /usr/bin/btrfs
	# What they put above dm-aciom.
	need cryptsetup-bin /usr/sbin/cryptsetup
	need lvm2 /usr/sbin/lvm
	need dosfstools /usr/sbin/mkfs.vfat
	need exfatprogs /usr/sbin/mkfs.exfat
	need erofs-utils /usr/bin/mkfs.erofs
	need squashfs-tools /usr/bin/mksquashfs
	need ntfs-3g /usr/sbin/mkntfs
	need udftools /usr/sbin/mkudffs
	# What plays frames through shared buffers.
	need libgstreamer1.0-dev /usr/include/gstreamer-1.0/gst/gst.h
	need libgstreamer-plugins-base1.0-dev /usr/include/gstreamer-1.0/gst/allocators/gstdmabuf.h
	need gstreamer1.0-plugins-base "/usr/lib/$(uname -m)-linux-gnu/gstreamer-1.0/libgstvideotestsrc.so"
	need gstreamer1.0-plugins-good "/usr/lib/$(uname -m)-linux-gnu/gstreamer-1.0/libgstvideo4linux2.so"
	# The log of the daemon's system calls.
	need strace strace
	# The desktops that the focus sources are tested with.
	need xvfb Xvfb
	need openbox openbox
	need xterm xterm
	need xdotool xdotool
	need sway sway
	need foot foot
	need dbus dbus-daemon
	need kwin-wayland kwin_wayland
	need weston weston-simple-shm
	# Debian's cargo comes without them; for rustup's see below.
	if [ -x /usr/bin/cargo ]; then
		need rustfmt rustfmt
		need rust-clippy cargo-clippy
	fi
	# Where the Python package is tried.
	python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || packages="$packages python3-venv"
fi
if [ "${1:-}" = tests-pc ]; then
	# File systems that only a PC's kernel has.
	need f2fs-tools /usr/sbin/mkfs.f2fs
	need jfsutils /usr/sbin/mkfs.jfs
fi
if [ "${1:-}" = arm ]; then
	need qemu-system-arm qemu-system-aarch64
	case $2 in
	aarch64-*) gnu=aarch64-linux-gnu libc=arm64 ;;
	*) gnu=arm-linux-gnueabihf libc=armhf ;;
	esac
	need "gcc-$gnu" "$gnu-gcc"
	need "libc6-dev-$libc-cross" "/usr/$gnu/include/stdio.h"
fi
if [ "${1:-}" = xfstests ]; then
	need autoconf autoconf
	need automake automake
	need libtool libtoolize
	need libtool-bin libtool
	need gawk gawk
	need pkg-config pkg-config
	need libaio-dev /usr/include/libaio.h
	need xfslibs-dev /usr/include/xfs/xfs.h
	need uuid-dev /usr/include/uuid/uuid.h
	need libattr1-dev /usr/include/attr/attributes.h
	need libacl1-dev /usr/include/sys/acl.h
fi
if [ "${1:-}" = debug-kernel ]; then
	need flex flex
	need bison bison
	need bc bc
	need xz-utils xz
	need libelf-dev /usr/include/libelf.h
fi

if [ -n "$packages" ]; then
	command -v apt-get >/dev/null 2>&1 || { echo "missing:$packages; install them by your system's means (no apt-get here)" >&2; exit 3; }
	as_root=
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null 2>&1 || { echo "missing:$packages; run as root: apt-get install$packages" >&2; exit 3; }
		as_root=sudo
		[ -t 0 ] || as_root="sudo -n"
	fi
	echo "installing:$packages"
	# A fresh container has no package lists.
	ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 || $as_root apt-get update -qq </dev/null
	# shellcheck disable=SC2086 # one word per package
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages </dev/null
fi

command -v cargo >/dev/null 2>&1 || {
	echo "cargo is missing; install Rust 1.85 or newer: https://rustup.rs, or apt-get install cargo on Debian 13" >&2
	exit 3
}

# Of rustup's minimal profile they are components.
if [ "${1:-}" = tests ] && command -v rustup >/dev/null 2>&1; then
	for component in rustfmt clippy; do
		cargo "${component#rust}" --version >/dev/null 2>&1 || rustup component add "$component" || true
	done
fi

if [ "${1:-}" = arm ] && ! [ -d "$(rustc --print target-libdir --target "$2" 2>/dev/null)" ]; then
	command -v rustup >/dev/null 2>&1 || {
		echo "Rust has no standard library for $2 here; install Rust by rustup, or Debian's libstd-rust-dev of that architecture" >&2
		exit 3
	}
	rustup target add "$2"
fi
