#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Tries what makes volumes when a machine starts (packaging/): the program itself, the modules for dracut and mkinitcpio, the generator for
# systemd, and what `fovea-setup volume` writes for them, each in a root made for it, with stand-ins for the functions of the program that calls it. A boot of Debian's initramfs-tools:
# tools/root-on-aciom.sh.
set -eu
cd "$(dirname "$0")/.."
packaging=$PWD/packaging
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
wrong() {
	echo "test-volumes: $*" >&2
	failed=1
}
has_line() { # has_line FILE LINE
	grep -qxF -e "$2" "$1" || wrong "${1#"$work"/} has no line \"$2\": $(cat "$1")"
}
has_not() { # has_not FILE TEXT
	! grep -qF -e "$2" "$1" || wrong "${1#"$work"/} has \"$2\": $(cat "$1")"
}
program=$packaging/initramfs-tools/scripts/local-top/fovea-aciom
mkdir -p "$work/bin" "$work/etc/fovea" "$work/dev/mapper" "$work/sys/class/block/card" "$work/sys/class/block/disk"

# The program: it makes each volume once, waits for devices, and says what is wrong.
volumes=$work/etc/fovea/volumes
cat >"$volumes" <<-END
	# films
	films $work/dev/card ecache

	home $work/dev/disk cmax=5 hold=2
	gone $work/dev/gone
	nothing
END
for name in dmsetup modprobe; do
	# shellcheck disable=SC2016
	printf '#!/bin/sh\necho %s "$@" >>%s/said\n[ "$1" != create ] || : >%s/dev/mapper/$2\n' "$name" "$work" "$work" >"$work/bin/$name"
	chmod +x "$work/bin/$name"
done
volumes() { # volumes WORD...: what it called is in said, what it said in errors
	: >"$work/said"
	PATH=$work/bin:$PATH VOLUMES=$volumes DEV=$work/dev SYS=$work/sys WAIT_S=0 FOVEA_UNIT=${unit-} sh "$program" "$@" 2>"$work/errors"
}
if mknod "$work/dev/card" b 7 200 2>/dev/null && [ -b "$work/dev/card" ]; then
	echo 80 >"$work/sys/class/block/card/size"
	echo 96 >"$work/sys/class/block/disk/size"
	volumes try
	has_line "$work/said" "dmsetup create films --uuid FOVEA-films --table 0 80 ecache $work/dev/card 0 "
	has_line "$work/said" "modprobe -q dm-ecache"
	has_not "$work/said" home
	has_not "$work/errors" gone
	mknod "$work/dev/disk" b 7 201
	volumes
	has_not "$work/said" films
	has_line "$work/said" "dmsetup create home --uuid FOVEA-home --table 0 96 aciom $work/dev/disk cmax=5 hold=2"
	has_line "$work/errors" "fovea-volumes: gone: $work/dev/gone has not come within 0 s: name it as in /dev/disk/by-partuuid"
	grep -q '"nothing" names no device' "$work/errors" || wrong "a line without a device is passed over"
	if unit=1 volumes make gone; then wrong "a unit does not fail with its volume"; fi
	unit=1 volumes make home || wrong "what is there already fails"
	if unit=1 volumes make other; then wrong "a volume that the file has not is made"; fi
	volumes stop films
	has_line "$work/said" "dmsetup remove films"
	has_not "$work/said" home
else
	echo "test-volumes: the program itself is left out: only root makes device nodes" >&2
fi

# dracut and mkinitcpio, as `make install` would put them there. They read /etc/fovea/volumes; here it is the root's.
hooks() { # hooks SOURCE: a copy that reads the root's files
	sed "s|/etc/fovea/volumes|$volumes|g; s|/etc/modprobe.d|$work/etc/modprobe.d|g; s|\${dracutsysrootdir-}||g" "$1"
}
mkdir -p "$work/etc/modprobe.d"
echo 'options dm-ecache carveouts=of:fovea,carveout' >"$work/etc/modprobe.d/ecache.conf"
hooks "$packaging/dracut/90fovea/module-setup.sh" >"$work/module-setup.sh"
cat >"$work/dracut" <<-'END'
	moddir=/module
	for f in inst_multiple inst_simple inst_rules inst_script inst_hook; do eval "$f() { echo $f \"\$@\"; }"; done
	instmods() { echo "instmods hostonly=$hostonly $*"; }
	require_binaries() { echo "require_binaries $*"; }
	hostonly=yes
	. "$1"
	check && installkernel && install
END
bash "$work/dracut" "$work/module-setup.sh" >"$work/dracut.said" || wrong "dracut's module is left out"
for line in "require_binaries dmsetup" "instmods hostonly= dm-aciom" "instmods hostonly= dm-ecache" "inst_simple $volumes" \
	"inst_script /module/fovea-volumes /usr/lib/fovea/fovea-volumes" "inst_rules 60-fovea.rules" \
	"inst_hook initqueue/settled 50 /module/settled.sh" "inst_hook initqueue/timeout 50 /module/timeout.sh"; do
	has_line "$work/dracut.said" "$line"
done
grep -q "^inst_multiple .*ecache.conf" "$work/dracut.said" || wrong "dracut does without the options of dm-ecache"
# What it calls is what is there.
grep -ho '/usr/lib/fovea/fovea-volumes [a-z]*' "$packaging"/dracut/90fovea/*.sh "$packaging"/mkinitcpio/hooks/fovea | while read -r _ word; do
	grep -q "^#.*$word" "$program" || echo "$word"
done >"$work/unknown"
[ ! -s "$work/unknown" ] || wrong "a hook calls fovea-volumes by an unknown word: $(cat "$work/unknown")"

hooks "$packaging/mkinitcpio/install/fovea" >"$work/install"
cat >"$work/mkinitcpio" <<-'END'
	for f in add_module add_binary add_file add_udev_rule add_runscript add_symlink warning; do eval "$f() { echo $f \"\$@\"; }"; done
	[ "$2" != systemd ] || add_systemd_unit() { echo "add_systemd_unit $*"; }
	. "$1"
	help >/dev/null
	build
END
for init in busybox systemd; do bash "$work/mkinitcpio" "$work/install" $init >"$work/$init.said" || wrong "mkinitcpio's hook fails"; done
for line in "add_module dm-aciom" "add_module dm-ecache" "add_binary dmsetup" "add_file $volumes" "add_file $work/etc/modprobe.d/ecache.conf" \
	"add_udev_rule 60-fovea.rules"; do
	has_line "$work/busybox.said" "$line"
	has_line "$work/systemd.said" "$line"
done
has_line "$work/busybox.said" add_runscript
has_not "$work/busybox.said" systemd
has_line "$work/systemd.said" "add_systemd_unit fovea-volumes.service"
has_not "$work/systemd.said" add_runscript

# No volume of dm-ecache: its module stays out. No volume at all: nothing comes along.
echo "home $work/dev/disk" >"$volumes"
bash "$work/dracut" "$work/module-setup.sh" >"$work/dracut.said" || wrong "dracut's module is left out"
bash "$work/mkinitcpio" "$work/install" busybox >"$work/busybox.said"
has_not "$work/dracut.said" dm-ecache
has_not "$work/busybox.said" dm-ecache
echo '# none' >"$volumes"
if bash "$work/dracut" "$work/module-setup.sh" >/dev/null; then wrong "dracut's module comes along with nothing to do"; fi
bash "$work/mkinitcpio" "$work/install" busybox >"$work/busybox.said"
has_not "$work/busybox.said" add_

# The generator.
if command -v systemd-escape >/dev/null; then
	mkdir -p "$work/units"
	cat >"$volumes" <<-'END'
		films /dev/disk/by-partuuid/0a-1 ecache
		home /dev/sdb1 cmax=5
		a/b /dev/sdb2
	END
	printf '/dev/mapper/films /films ext4 defaults 0 2\nUUID=0b /home ext4 defaults 0 2\n' >"$work/etc/fstab"
	FOVEA_ROOT=$work FOVEA_VOLUMES=/bin/true sh "$packaging/systemd-generators/fovea-volumes-generator" "$work/units" 2>"$work/errors"
	grep -q 'a/b: use letters' "$work/errors" || wrong "a name with a slash is taken"
	has_line "$work/units/fovea-volume@films.service" 'BindsTo=dev-disk-by\x2dpartuuid-0a\x2d1.device'
	has_line "$work/units/fovea-volume@films.service" 'ExecStart=/bin/true make films'
	[ -L "$work/units/dev-mapper-films.device.requires/fovea-volume@films.service" ] || wrong "who waits for films does not start it"
	has_line "$work/units/fovea-volume@home.service" 'Before=local-fs-pre.target swap.target umount.target'
	has_line "$work/units/fovea-volume@home.service" 'JobTimeoutSec=30'
	[ -L "$work/units/local-fs-pre.target.wants/fovea-volume@home.service" ] || wrong "home is mounted by UUID before its volume is there"
	[ "$(find "$work/units" -name '*.service' -type f | wc -l)" = 2 ] || wrong "units: $(find "$work/units")"
	if command -v systemd-analyze >/dev/null; then
		systemd-analyze verify --man=no "$work"/units/fovea-volume@*.service >"$work/verified" 2>&1 || true
		! grep -q "fovea-volume@" "$work/verified" || wrong "$(cat "$work/verified")"
	fi
else
	echo "test-volumes: the generator is left out: no systemd-escape here" >&2
fi
# A place of fstab is put on a volume, and back. Its root says what is on home and swap, and names root's partition.
if [ "$(id -u)" = 0 ]; then
	root=$work/root
	mkdir -p "$root/etc" "$root/proc" "$root/run/systemd/system" "$root/dev/disk/by-partuuid" "$root/dev/disk/by-uuid" "$root/dev/disk/by-label"
	printf 'PARTUUID=0a-1 / ext4 defaults 0 1\nUUID=0b /home ext4 defaults 0 2\nLABEL=s none swap sw 0 0\n' >"$root/etc/fstab"
	touch "$root/dev/card1" "$root/dev/card3" "$root/dev/card4"
	for link in by-partuuid/0a-1:card1 by-partuuid/0a-3:card3 by-uuid/0b:card3 by-label/s:card4; do
		ln -s "../../${link#*:}" "$root/dev/disk/${link%%:*}"
	done
	# Never the machine's own.
	for name in systemctl update-initramfs; do
		printf '#!/bin/sh\necho %s "$@" >>%s/said\n' "$name" "$work" >"$work/bin/$name"
		chmod +x "$work/bin/$name"
	done
	cp -a "$root" "$work/root.before"
	setup() { # setup CODE WORD...: what it says is in told
		code=0 wanted=$1
		shift
		PATH=$work/bin:$PATH FOVEA_SETUP_ROOT=$root sh "$packaging/fovea-setup" "$@" </dev/null >"$work/told" 2>&1 || code=$?
		[ "$code" = "$wanted" ] || wrong "fovea-setup $*: exit code $code: $(cat "$work/told")"
	}
	: >"$work/said"
	setup 0 --dry-run volume /home ecache
	has_line "$work/told" "1. Put /home (ext4 on /dev/disk/by-partuuid/0a-3) on a volume of dm-ecache from the next start on."
	diff -r "$root" "$work/root.before" >/dev/null || wrong "a dry run changes the machine"
	setup 0 --yes volume /home ecache
	has_not "$work/told" "Boot with"
	setup 0 --yes volume swap
	setup 0 --yes volume / cmax=5 hold=2
	has_line "$work/told" "   Boot with root= /dev/mapper/root."
	has_line "$work/said" "update-initramfs -u"
	printf '%s\n' 'home /dev/disk/by-partuuid/0a-3 ecache' 'swap /dev/card4' 'root /dev/disk/by-partuuid/0a-1 cmax=5 hold=2' |
		cmp -s - "$root/etc/fovea/volumes" || wrong "volumes: $(cat "$root/etc/fovea/volumes")"
	# What is on a volume has its UUID and label; the partition's name is the device's alone.
	printf '/dev/mapper/root / ext4 defaults 0 1\nUUID=0b /home ext4 defaults 0 2\nLABEL=s none swap sw 0 0\n' |
		cmp -s - "$root/etc/fstab" || wrong "fstab: $(cat "$root/etc/fstab")"
	setup 1 --yes volume /home
	has_line "$work/told" "fovea-setup: /etc/fovea/volumes has a volume home already"
	setup 2 --yes volume /films
	setup 2 --yes volume
	setup 2 --yes films
	setup 0 --undo
	diff -r -x var "$root" "$work/root.before" || wrong "fovea-setup --undo leaves something"
	[ "$(grep -c '^update-initramfs -u$' "$work/said")" = 2 ] || wrong "root's initramfs keeps its volume"
fi
[ "$failed" = 0 ] && echo "volumes: setup, dracut, mkinitcpio, systemd: right"
exit "$failed"
