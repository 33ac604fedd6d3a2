#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Whether the recipes for distributions (packaging/) are in step with the tree: their version, what each package takes of what `make install` puts
# there, what they need, and their syntax as far as this machine has the programs. Nothing is built.
set -eu
cd "$(dirname "$0")/.."
top=$PWD packaging=$PWD/packaging
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 skipped=
wrong() {
	echo "recipes: $*" >&2
	failed=1
}
has() { command -v "$1" >/dev/null 2>&1 || { skipped="$skipped $1"; false; }; }
try() { # try WHAT COMMAND...: what it says is shown where it fails
	what=$1
	shift
	"$@" >"$work/said" 2>&1 || wrong "$what: $(tail -n 5 "$work/said")"
}
files() { (cd "$1" && find . ! -type d | sed 's|^\./||' | sort); }
make=${MAKE:-make}
stage() { tools/staged.sh stage "$make" "$@"; }

# Versions.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
for line in "alpine/APKBUILD pkgver=$version" "arch/PKGBUILD pkgver=$version" "nix/flake.nix version = \"$version\";" \
	"buildroot/fovea/fovea.mk FOVEA_VERSION = $version"; do
	grep -qF "${line#* }" "$packaging/${line%% *}" || wrong "packaging/${line%% *}: not ${line#* }, the version of Cargo.toml"
done
rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
grep -qF "rustc (>= $rust)" "$packaging/debian/control" || wrong "packaging/debian/control: Cargo.toml asks for Rust $rust"
modules=$(sed -n 's/^BUILT_MODULE_NAME.*="\(.*\)"/\1/p' kmod/dkms.conf | sort)
akms=$(sed -n "s/^built_modules='\(.*\)'/\1/p" "$packaging/alpine/AKMBUILD" | tr ' ' '\n' | sed 's|.*/||; s/\.ko$//' | sort)
[ "$modules" = "$akms" ] || wrong "packaging/alpine/AKMBUILD does not name the modules of kmod/dkms.conf"

# Each program beside the small one has a package of its own wherever programs are parted.
for program in $(sed -n 's/^EXTRA := //p' Makefile); do
	grep -q "^Package: $program$" "$packaging/debian/control" || wrong "packaging/debian has no package $program"
	grep -q "^package_$program()" "$packaging/arch/PKGBUILD" || wrong "packaging/arch has no package $program"
	grep -q "^${program#fovea-}()" "$packaging/alpine/APKBUILD" || wrong "packaging/alpine has no package $program"
done

# Debian: each file is in one package. What is found only when it is built stands at the end.
multiarch=x86_64-linux-gnu
stage "$work/debian" install PREFIX=/usr LIBDIR=/usr/lib/$multiarch
: >"$work/taken"
for list in "$packaging"/debian/*.install; do
	package=$(basename "$list" .install)
	while read -r pattern _; do
		found=$(cd "$work/debian" && for path in $pattern; do [ ! -e "$path" ] && [ ! -h "$path" ] || find "$path" ! -type d; done)
		case $package in fovea) found=$(echo "$found" | grep -v -e system/fovea-metrics -e system/fovea-bus -e system/fovea-prefetch || true) ;; esac
		case $pattern in usr/lib/python3/* | */CHANGELOG.md) continue ;; esac
		[ -n "$found" ] || wrong "packaging/debian/$package.install: nothing is $pattern"
		echo "$found" >>"$work/taken"
	done <"$list"
done
sort "$work/taken" >"$work/sorted"
uniq -d "$work/sorted" >"$work/twice"
[ ! -s "$work/twice" ] || wrong "packaging/debian: in two packages: $(cat "$work/twice")"
files "$work/debian" | grep -v '^usr/src/.*/dkms.conf$' | comm -23 - "$work/sorted" >"$work/left"
[ ! -s "$work/left" ] || wrong "packaging/debian: in no package: $(cat "$work/left")"

# Arch: its functions, over the same files.
stage "$work/arch/staged" install PREFIX=/usr
cat >"$work/arch.sh" <<'END'
set -eu
srcdir=$1 startdir=$2 pkgdir=$1/packages
. "$startdir/PKGBUILD"
[ "$(printf '%s\n' "${pkgname[@]}" | tail -n 1)" = fovea ]
for name in "${pkgname[@]}"; do
	pkgdir=$srcdir/packages/$name
	"package_$name"
done
rest=$(find "$srcdir/staged" ! -type d)
[ -z "$rest" ] || { echo "in no package: $rest"; exit 1; }
for program in top metrics bus prefetch lab; do
	! find "$srcdir/packages/fovea/usr/bin" "$srcdir/packages/fovea/usr/lib/fovea" "$srcdir/packages/fovea/usr/lib/systemd" -name "fovea-$program*" | grep . ||
		{ echo "the package fovea has what is of fovea-$program"; exit 1; }
done
END
try packaging/arch/PKGBUILD bash "$work/arch.sh" "$work/arch" "$packaging/arch"
try packaging/arch/fovea.install bash -n "$packaging/arch/fovea.install"

# Alpine: its functions, with abuild's own for what has the usual names.
cat >"$work/alpine.sh" <<'END'
set -eu
startdir=$1 work=$2 stage=$3
. "$startdir/APKBUILD"
pkgdir=$work/pkg
# The tree, and no program of it.
make() { "$stage" stage make "$pkgdir" "$1" "$3"; }
amove() { for path; do mkdir -p "$subpkgdir/$(dirname "$path")"; mv "$pkgdir/$path" "$subpkgdir/$path"; done; }
cd "$builddir"
package
for sub in $subpackages; do
	name=${sub%%:*}
	part=${name##*-}
	case $sub in *:*) part=${sub#*:} part=${part%%:*} ;; esac
	subpkgdir=$work/subpkg/$name
	case $part in
	dev) amove usr/include usr/lib/pkgconfig usr/lib/libfovea-heap.a usr/lib/libfovea-heap.so ;;
	doc) amove usr/share/man usr/share/doc ;;
	openrc) amove etc/init.d ;;
	completion) case $name in
		*bash*) amove usr/share/bash-completion ;;
		*zsh*) amove usr/share/zsh ;;
		*fish*) amove usr/share/fish ;;
		esac ;;
	*) "$part" ;;
	esac
done
find "$pkgdir" ! -type d | sed "s|$pkgdir/||" | grep -v -e '^usr/bin/fovea$' -e '^usr/lib/fovea/fovea-\(setup\|volumes\)$' -e '^usr/lib/udev/' \
	-e '^usr/lib/libfovea-heap.so.0$' -e '^usr/share/fovea/gnome-shell/' >"$work/left" || true
[ ! -s "$work/left" ] || { echo "nothing is said of: $(cat "$work/left")"; exit 1; }
END
try packaging/alpine/APKBUILD sh "$work/alpine.sh" "$packaging/alpine" "$work/alpine" "$top/tools/staged.sh"
try packaging/alpine/AKMBUILD sh -n "$packaging/alpine/AKMBUILD"
for init in "$packaging"/openrc/* "$packaging/buildroot/S50fovea" "$packaging/fovea-setup" "$packaging/fovea-users"; do try "${init#"$top"/}" sh -n "$init"; done

# Yocto: the licences, and each file in a package.
recipe=$packaging/yocto/fovea_git.bb
for licence in $(grep -o 'LICENSES/[^;]*;md5=[0-9a-f]*' "$recipe"); do
	[ "$(md5sum <"${licence%%;*}" | cut -d' ' -f1)" = "${licence##*=}" ] || wrong "$recipe: the sum of ${licence%%;*} is another"
done
patterns=$(sed -n 's/^FILES:.*= "\(.*\)"/\1/p' "$recipe" | sed 's|\${libdir}|/usr/lib|g; s|\${includedir}|/usr/include|g; s|\${prefix}|/usr|g; s|\${datadir}|/usr/share|g')
# What the base configuration gives to every recipe.
patterns="$patterns /usr/bin /usr/share/man /usr/share/doc"
stage "$work/yocto" install-small PREFIX=/usr LIBDIR=/usr/lib
rm -r "$work/yocto/usr/share/initramfs-tools" "$work/yocto/usr/lib/dracut" "$work/yocto/usr/lib/initcpio"
for file in $(files "$work/yocto"); do
	for pattern in $patterns none; do case /$file in "$pattern" | "$pattern"/*) break ;; esac done
	[ "$pattern" != none ] || wrong "$recipe: in no package: $file"
done

# Buildroot: targets of the Makefile that there are, and each command with all its variables.
cat >"$work/buildroot.mk" <<END
FOVEA_OVERRIDE_SRCDIR := $top
TARGET_DIR := $work/target
INSTALL := install
RUSTC_TARGET_NAME := aarch64-unknown-linux-gnu
TARGET_CC := cc
TARGET_MAKE_ENV :=
PKG_CARGO_ENV :=
generic-package =
include $packaging/buildroot/fovea/fovea.mk
all:
	\$(FOVEA_BUILD_CMDS)
	\$(FOVEA_INSTALL_TARGET_CMDS)
	\$(FOVEA_INSTALL_INIT_SYSV)
END
try packaging/buildroot/fovea/fovea.mk "$make" -n --warn-undefined-variables -f "$work/buildroot.mk" all '@D='"$top" MAKE=tool
for words in "tool .* small$" "tool .* install-small DESTDIR=$work/target$" "^install .*/S50fovea $work/target/etc/init.d/S50fovea$"; do
	grep -q -- "$words" "$work/said" || wrong "packaging/buildroot/fovea/fovea.mk: no command is $words: $(cat "$work/said")"
done
! grep "undefined variable" "$work/said" >&2 || wrong "packaging/buildroot/fovea/fovea.mk uses what nobody defines"
# What was installed goes again.
for target in install install-extra install-small; do
	stage "$work/local" $target
	try "make uninstall after make $target" "$make" --no-print-directory uninstall DESTDIR="$work/local"
	[ -z "$(find "$work/local" -mindepth 1 2>/dev/null)" ] || wrong "make uninstall after make $target leaves $(find "$work/local" -mindepth 1 | head -n 5)"
done
if has kconfig-conf; then
	printf 'config BR2_PACKAGE_HOST_RUSTC_TARGET_ARCH_SUPPORTS\n\tbool "rust"\n\nconfig BR2_PACKAGE_HOST_RUSTC\n\tbool "host"\n\nsource "%s"\n' "$packaging/buildroot/fovea/Config.in" >"$work/Config.in"
	(cd "$work" && try packaging/buildroot/fovea/Config.in kconfig-conf --allyesconfig Config.in && grep -q BR2_PACKAGE_FOVEA=y .config) || wrong "packaging/buildroot/fovea/Config.in: fovea cannot be chosen"
fi
if has nix-instantiate; then try packaging/nix/flake.nix nix-instantiate --parse "$packaging/nix/flake.nix"; fi
if has shellcheck; then
	# OpenRC's interpreter is a shell, and reads the variables.
	try "scripts of OpenRC" shellcheck -S warning -s sh -e SC1008,SC2034 "$packaging"/openrc/*
	try "scripts of packaging" shellcheck -S warning "$packaging/buildroot/S50fovea" "$packaging/arch/PKGBUILD" "$packaging/alpine/APKBUILD" \
		"$packaging/alpine/AKMBUILD" "$packaging/fovea-setup" "$packaging/fovea-users"
fi
[ -z "$skipped" ] || echo "recipes: not looked at for want of it:$skipped"
[ "$failed" = 0 ] && echo "recipes: versions, files and needs are in step"
exit "$failed"
