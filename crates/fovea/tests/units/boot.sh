#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Becomes systemd, as first process of the namespaces that it is started in, on a copy-on-write view of this machine:
# boot.sh FOLDER FOVEA PACKAGING CONFIG
set -eu
folder=$1 fovea=$2 packaging=$3 config=$4
mount -t tmpfs none "$folder"
cd "$folder"
mkdir upper work root
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" root
units=root/etc/systemd/system
mkdir -p $units
# None of this machine's own units beside those that systemd brings along.
find $units -mindepth 1 -delete
cp "$packaging"/*.service $units/
cp "$fovea" root/usr/local/bin/fovea
cp "$config" root/etc/fovea.toml
# Nothing is done to this machine's kernel.
ln -sf /bin/true root/sbin/modprobe
for unit in timers.target systemd-udevd.service systemd-udev-trigger.service systemd-sysctl.service \
	systemd-modules-load.service systemd-remount-fs.service systemd-update-utmp.service systemd-journal-flush.service \
	systemd-random-seed.service dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
	sys-kernel-config.mount sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount; do
	ln -sf /dev/null $units/$unit
done
cat >$units/units.target <<'UNIT'
[Unit]
Requires=basic.target
After=basic.target
AllowIsolate=yes
UNIT
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
mount -t tmpfs tmpfs root/run
mount -t tmpfs tmpfs root/tmp
mount -t tmpfs tmpfs root/dev
for device in null zero full random urandom tty; do
	: >root/dev/$device
	mount --bind /dev/$device root/dev/$device
done
mkdir root/dev/pts root/dev/shm root/dev/mqueue root/dev/hugepages root/run/user
mount -t devpts devpts root/dev/pts -o newinstance,ptmxmode=666
ln -s pts/ptmx root/dev/ptmx
ln -s /proc/self/fd root/dev/fd
: >root/dev/console
mount -t cgroup2 none root/sys/fs/cgroup
cd root
exec chroot . /usr/bin/env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system --unit=units.target --log-target=journal --show-status=no
