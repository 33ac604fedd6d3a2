#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Builds kmod/ against the headers of every line of kernels that Debian offers for amd64, with the compiler each was built with, against
# those of arm64 (4 and 16 KiB pages) and armhf where a cross compiler of that version is installed (apt-get install gcc-aarch64-linux-gnu
# gcc-arm-linux-gnueabihf), and once without each of some options; and sees to it that PREEMPT_RT refuses. Headers and, on an older Debian than theirs, compilers are unpacked into the cache, and never installed.
#   tools/kernels.sh [SUITE...]       bookworm bookworm-backports trixie trixie-backports
# The host's mirror serves, or FOVEA_MIRROR.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
cache=${FOVEA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fovea}/headers
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(sh "$here/tools/mirror.sh")
[ -e "$keyring" ] || { echo "no $keyring; run this on Debian" >&2; exit 3; }
command -v file >/dev/null || { echo "file is not installed; apt-get install file" >&2; exit 3; }
# Not sid: its compiler wants its own assembler too, and backports are as new.
[ $# -gt 0 ] || set -- bookworm bookworm-backports trixie trixie-backports
mkdir -p "$cache"
work=$(mktemp -d "$cache/tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# A private apt: neither the host's sources nor what it has installed are touched.
private() { # private SUITE PROGRAM ARGUMENT...
	apt=$work/$1
	[ -d "$apt" ] || {
		mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/state"
		# Backports have what is theirs, and for the rest the suite that they are for.
		for one in $(printf '%s\n' "${1%-backports}" "$1" | uniq); do
			echo "deb [arch=amd64,arm64,armhf signed-by=$keyring lang=none target=Packages] $mirror $one main"
		done >"$apt/sources.list"
		: >"$apt/status"
		private "$1" apt-get update -qq
	}
	program=$2
	shift 2
	"$program" -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null -o Dir::State="$apt/state" \
		-o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
		-o APT::Architecture=amd64 -o APT::Architectures=amd64,arm64,armhf -o APT::Default-Release= -o APT::Sandbox::User=root "$@"
}

unpack() { # unpack SUITE FOLDER PACKAGE...
	suite=$1 to=$2
	shift 2
	mkdir -p "$work/debs" "$to"
	(cd "$work/debs" && private "$suite" apt-get download -qq "$@")
	for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$to"; done
	rm -rf "$work/debs"
}

newest() { # newest SUITE FLAVOUR: the newest headers of the suite's main line
	private "$1" apt-cache search --names-only "^linux-headers-[0-9].*[0-9]-$2\$|^linux-headers-[0-9].*deb[0-9]*-$2\$" |
		cut -d' ' -f1 | sort -V | tail -1
}

# What was built against a newer C library than the host's runs with its own. Both are still in $root, and will be in $final.
wrap() { # wrap FILE...
	libraries=$final/tools/usr/lib/x86_64-linux-gnu
	for file; do
		case $file in *.elf) continue ;; esac
		file "$file" | grep -q 'ELF 64-bit.*x86-64' || continue
		mv "$file" "$file.elf"
		printf '#!/bin/sh\nexec %s/ld-linux-x86-64.so.2 --library-path %s --argv0 "$0" %s.elf "$@"\n' \
			"$libraries" "$libraries" "$final${file#"$root"}" >"$file"
		chmod +x "$file"
	done
}

fetch() { # fetch SUITE HEADERS [:ARCHITECTURE]: into $cache/HEADERS, as a whole or not at all
	[ ! -d "$cache/$2" ] || return 0
	root=$cache/$2.part final=$cache/$2
	rm -rf "$root"
	needed=$(private "$1" apt-cache show "$2${3:-}" | sed -n 's/^Depends: //p' | head -1 | tr ',' '\n' |
		sed -n 's/^ *\(linux-headers-[^ ]*-common[^ ]*\|linux-kbuild-[^ ]*\).*/\1/p')
	# shellcheck disable=SC2086 # one word per package
	unpack "$1" "$root" "$2${3:-}" $needed
	# No BTF, which needs pahole. Absolute paths become those of the cache.
	rm -f "$root/usr/src/$2/vmlinux"
	sed -i "s#/usr/src/#$cache/$2/usr/src/#" "$root/usr/src/$2/Makefile"
	compiler=$(sed -n 's/.*\(gcc-[0-9]*\).*/\1/p' "$root/usr/src/$2/.kernelvariables" | head -1)
	[ -n "$compiler" ] || compiler=gcc-12
	echo "$compiler" >"$root/compiler"
	if [ -z "${3:-}" ] && ! command -v "$compiler" >/dev/null; then
		elf=$(private "$1" apt-cache search --names-only '^libelf1(t64)?$' | cut -d' ' -f1 | tail -1)
		unpack "$1" "$root/tools" libc6 "$elf" zlib1g libzstd1 libisl23 libmpc3 libmpfr6 libgmp10 \
			"$compiler-x86-64-linux-gnu" "cpp-${compiler#gcc-}-x86-64-linux-gnu" "lib$compiler-dev"
	fi
	if [ -d "$root/tools" ]; then
		wrap "$root/tools/usr/bin/x86_64-linux-gnu-$compiler" "$root"/tools/usr/libexec/gcc/x86_64-linux-gnu/*/cc1 \
			"$root"/tools/usr/libexec/gcc/x86_64-linux-gnu/*/collect2
		find "$root"/usr/lib "$root"/usr/src -type f -perm -u+x -path '*linux-kbuild-*' >"$work/programs"
		while read -r program; do wrap "$program"; done <"$work/programs"
	fi
	mv "$root" "$final"
}

# What vendors' kernels are built without, GKI above all: options that go together, separated by commas.
lacks="FUNCTION_TRACER,DYNAMIC_FTRACE,DYNAMIC_FTRACE_WITH_REGS,DYNAMIC_FTRACE_WITH_ARGS,DYNAMIC_FTRACE_WITH_DIRECT_CALLS,FTRACE_MCOUNT_RECORD,\
FUNCTION_GRAPH_TRACER,FTRACE_MCOUNT_USE_CC,BUILDTIME_MCOUNT_SORT,FPROBE,FPROBE_EVENTS,KPROBES_ON_FTRACE MIGRATION,COMPACTION,CMA VM_EVENT_COUNTERS MEMORY_FAILURE"
folder=
without() { # without HEADERS OPTION,...: the next build is against these headers with the options off
	rm -rf "$work/without"
	# shellcheck disable=SC2046 # one word per option
	folder=$(sh "$here/tools/headers-without.sh" "$cache/$1/usr/src/$1" "$work/without" $(echo "$2" | tr , ' '))
}

build() { # build HEADERS: the log is in $work/log
	rm -rf "$work/src"
	mkdir "$work/src"
	cp -r "$here/kmod" "$here/core" "$work/src"
	compiler=$(cat "$cache/$1/compiler")
	# That of another CPU is named by the headers themselves.
	cross=
	case $1 in
	*-arm64*) cross=aarch64-linux-gnu- ;;
	*-armmp*) cross=arm-linux-gnueabihf- ;;
	esac
	[ ! -d "$cache/$1/tools" ] || compiler=$cache/$1/tools/usr/bin/x86_64-linux-gnu-$compiler
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL nice -n 10 make -k -j"$(nproc)" -C "$work/src/kmod" CC="$cross$compiler" \
		KDIR="${folder:-$cache/$1/usr/src/$1}" >"$work/log" 2>&1 && ! grep -q 'WARNING: modpost' "$work/log"
}

failed=0
for suite; do
	for flavour in cloud-amd64 rt-amd64; do
		headers=$(newest "$suite" "$flavour")
		[ -n "$headers" ] || { echo "$suite has no headers for $flavour" >&2; failed=1; continue; }
		fetch "$suite" "$headers"
		if build "$headers"; then built=1; else built=0; fi
		case $flavour$built in
		cloud-amd641) echo "ok   $suite: builds against $headers" ;;
		rt-amd640) if grep -q 'error: #error.*PREEMPT_RT' "$work/log"; then
			echo "ok   $suite: refuses $headers"
		else
			echo "FAIL $suite: $headers: neither builds nor says why it does not"
			failed=1
		fi ;;
		cloud-amd640)
			echo "FAIL $suite: does not build against $headers:"
			grep -E 'error|WARNING|undefined' "$work/log" | grep -v '^make' | sort -u | head -20
			failed=1
			;;
		rt-amd641) echo "FAIL $suite: builds against $headers, where it would sleep in atomic context"; failed=1 ;;
		esac
	done
	# What GKI is built without; the modules say so when they are loaded.
	headers=$(newest "$suite" cloud-amd64)
	for lack in $lacks; do
		[ -n "$headers" ] || break
		without "$headers" "$lack"
		if build "$headers"; then
			echo "ok   $suite: builds without $lack"
		else
			echo "FAIL $suite: does not build against $headers without $lack:"
			grep -E 'error|WARNING|undefined' "$work/log" | grep -v '^make' | sort -u | head -20
			failed=1
		fi
		folder=
	done
	for flavour in cloud-arm64 arm64-16k armmp-lpae; do
		headers=$(newest "$suite" "$flavour")
		# Debian 12 has none of 16 KiB.
		[ -n "$headers" ] || continue
		case $flavour in
		*arm64*) of=:arm64 gnu=aarch64-linux-gnu ;;
		*) of=:armhf gnu=arm-linux-gnueabihf ;;
		esac
		fetch "$suite" "$headers" "$of"
		compiler=$gnu-$(cat "$cache/$headers/compiler")
		if ! command -v "$compiler" >/dev/null; then
			echo "skip $suite: $headers: no $compiler here"
		elif build "$headers"; then
			echo "ok   $suite: builds against $headers"
		else
			echo "FAIL $suite: does not build against $headers:"
			grep -E 'error|WARNING|undefined' "$work/log" | grep -v '^make' | sort -u | head -20
			failed=1
		fi
	done
done
exit $failed
