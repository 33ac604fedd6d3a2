#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Boots a Debian whose root and swap are volumes of dm-aciom, made by the shipped hook for initramfs-tools, in QEMU. As root; needs
# mmdebstrap, and the kernel that `make fetch` brings. Says what failed, and exits 1.
#   tools/root-on-aciom.sh [SUITE]
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
suite=${1:-bookworm}
PATH=$PATH:/usr/sbin:/sbin
command -v mmdebstrap >/dev/null || { echo "skipped: root on dm-aciom: no mmdebstrap here; apt-get install mmdebstrap" >&2; exit 0; }
for program in qemu-system-x86_64 mke2fs mkswap; do
	command -v "$program" >/dev/null || { echo "$program is not installed; apt-get install qemu-system-x86 e2fsprogs" >&2; exit 3; }
done
kernel=$(find "${FOVEA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fovea}/kernel" -maxdepth 2 -name root 2>/dev/null | sort | tail -1)
[ -n "$kernel" ] || { echo "no kernel in the cache; run make fetch" >&2; exit 3; }
release=$(ls "$kernel/lib/modules")
work=$(mktemp -d)
trap 'umount "$work/root/proc" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

mkdir "$work/src"
cp -r "$here/kmod" "$here/core" "$work/src"
make -C "$work/src/kmod" KDIR="$kernel/usr/src/linux-headers-$release" >"$work/log" 2>&1 || { tail -5 "$work/log" >&2; exit 1; }

mmdebstrap --quiet --variant=minbase --include=initramfs-tools,dmsetup,udev,kmod,busybox,e2fsprogs "$suite" "$work/root" \
	"$(sh "$here/tools/mirror.sh")"
mkdir -p "$work/root/lib/modules"
cp -a "$kernel/lib/modules/$release" "$work/root/lib/modules/"
cp "$kernel/boot/config-$release" "$work/root/boot/"
install -D "$work/src/kmod/aciom/dm-aciom.ko" "$work/root/lib/modules/$release/updates/dkms/dm-aciom.ko"
for file in hooks/fovea-aciom scripts/local-top/fovea-aciom; do
	install -D -m 755 "$here/packaging/initramfs-tools/$file" "$work/root/usr/share/initramfs-tools/$file"
done
mkdir "$work/root/etc/fovea"
cat >"$work/root/etc/fovea/volumes" <<-'END'
	# root and swap
	root /dev/disk/by-id/virtio-fovea-root cmax=50000000
	swap /dev/disk/by-id/virtio-fovea-swap
END
printf '/dev/mapper/root / ext4 defaults 0 1\n/dev/mapper/swap none swap sw 0 0\n' >"$work/root/etc/fstab"
# The first process: says what root and swap are, and writes and reads a file.
cat >"$work/root/sbin/check-boot" <<-'END'
	#!/bin/sh
	PATH=/usr/sbin:/usr/bin:/sbin:/bin
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	exec >/dev/console 2>&1
	mount -o remount,rw /
	echo "root: $(sed -n 's/ \/ .*//p' /proc/mounts)"
	dmsetup table
	swapon -a && tail -n 1 /proc/swaps
	dd if=/dev/urandom of=/file bs=1M count=16 2>/dev/null
	before=$(md5sum </file)
	sync
	echo 3 >/proc/sys/vm/drop_caches
	[ "$before" = "$(md5sum </file)" ] && echo "file: the same"
	sync
	mount -o remount,ro /
	echo "all done"
	echo o >/proc/sysrq-trigger
	sleep 20
END
chmod +x "$work/root/sbin/check-boot"
chroot "$work/root" depmod "$release"
mount -t proc proc "$work/root/proc"
chroot "$work/root" update-initramfs -c -k "$release" >"$work/log" 2>&1 || { tail -5 "$work/log" >&2; exit 1; }
umount "$work/root/proc"

truncate -s 600M "$work/root.img"
mke2fs -q -F -t ext4 -d "$work/root" "$work/root.img"
truncate -s 64M "$work/swap.img"
mkswap "$work/swap.img" >/dev/null 2>&1
disk() {
	printf -- '-drive file=%s,format=raw,if=none,id=%s,cache=unsafe -device virtio-blk-pci,drive=%s,serial=fovea-%s' \
		"$work/$1.img" "$1" "$1" "$1"
}
# shellcheck disable=SC2046 # words
timeout 600 qemu-system-x86_64 -machine q35 -nodefaults -display none -no-reboot -accel tcg,thread=multi -cpu max,cx16=off -smp 2 \
	-m 768M -kernel "$kernel/boot/vmlinuz-$release" -initrd "$work/root/boot/initrd.img-$release" \
	-append "console=ttyS0 no_timer_check tsc=reliable panic=-1 loglevel=4 root=/dev/mapper/root ro init=/sbin/check-boot" \
	-serial "file:$work/console" $(disk root) $(disk swap) || true
tr -d '\r' <"$work/console" >"$work/said"
failed=0
expect() { # expect PATTERN WHAT
	if grep -aqE "$1" "$work/said"; then echo "ok   $2"; else echo "FAIL $2"; failed=1; fi
}
expect '^root: /dev/mapper/root$' 'root is the volume'
expect '^root: 0 [0-9]+ aciom .* cmax=50000000' 'with the options of /etc/fovea/volumes'
expect '^/dev/(dm-|mapper/).*partition' 'swap is a volume'
expect '^swap: 0 [0-9]+ aciom ' 'of dm-aciom'
expect '^file: the same$' 'what is written is read'
expect '^all done$' 'the boot came to its end'
[ "$failed" = 0 ] || tail -n 40 "$work/said" >&2
exit "$failed"
