#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Starts a Debian as a machine of its own (systemd in namespaces with cgroup v2; the network and the kernel are this machine's), runs a script of
# the shell there as root, and ends the machine. Nothing in ROOT is changed, and nothing is set in this machine's kernel.
#   tools/debian-machine.sh ROOT FOLDER SCRIPT      FOLDER is /given there, and read-only
# Ends with the script's exit code. Needs root.
set -eu
if [ "${1:-}" != inside ]; then
	cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/fovea-machine-$$
	mkdir "$cgroup"
	work=$(mktemp -d)
	machine=
	# Its processes end with the first one, and their cgroups are empty then.
	end() {
		[ -z "$machine" ] || { kill -KILL "$machine" 2>/dev/null && wait "$machine" || true; } 2>/dev/null
		while [ -e "$cgroup" ] && ! find "$cgroup" -depth -type d -delete 2>/dev/null; do sleep 0.1; done
		rm -rf "$work"
	}
	trap end EXIT
	trap 'exit 1' HUP INT TERM
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" unshare -C -m -p -u -i --propagation private --fork --kill-child -- \
		"$(realpath "$0")" inside "$(realpath "$1")" "$(realpath "$2")" "$(realpath "$3")" "$work" </dev/null >"$work/console" 2>&1 &
	machine=$!
	until [ -e "$work/ended" ]; do
		kill -0 "$machine" 2>/dev/null || { echo "the machine did not start or ended:" >&2; tail -n 5 "$work/console" >&2; exit 1; }
		sleep 0.2
	done
	cat "$work/said"
	exit "$(cat "$work/ended")"
fi

root=$2 folder=$3 script=$4 work=$5
# What is written goes with the namespace.
mkdir "$work/layer"
mount -t tmpfs none "$work/layer"
cd "$work/layer"
mkdir upper work root
mount -t overlay overlay -o "lowerdir=$root,upperdir=$work/layer/upper,workdir=$work/layer/work" root
mkdir -p root/given root/result
mount --bind "$folder" root/given
mount -o remount,bind,ro root/given
mount --bind "$work" root/result
cp /etc/resolv.conf root/etc/resolv.conf
cp "$script" root/root/script
mount -t proc proc root/proc
mount --bind root/proc/sys root/proc/sys
mount -o remount,bind,ro root/proc/sys
# Without what makes swap of this machine's memory.
mount -t sysfs -o ro sysfs root/sys
for hidden in sys/class/zram-control sys/block; do
	[ ! -d root/$hidden ] || mount -t tmpfs -o ro none root/$hidden
done
mount -t cgroup2 none root/sys/fs/cgroup
for tmp in run tmp dev; do mount -t tmpfs tmpfs root/$tmp; done
for device in null zero full random urandom tty; do
	: >root/dev/$device
	mount --bind /dev/$device root/dev/$device
done
mkdir root/dev/pts root/dev/shm
mount -t devpts devpts root/dev/pts -o newinstance,ptmxmode=666
ln -s pts/ptmx root/dev/ptmx
ln -s /proc/self/fd root/dev/fd
: >root/dev/console
printf '#!/bin/sh\nexit 0\n' >root/usr/sbin/modprobe
units=root/etc/systemd/system
for unit in systemd-udevd.service systemd-udev-trigger.service systemd-sysctl.service systemd-modules-load.service systemd-networkd.service \
	systemd-remount-fs.service systemd-resolved.service dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount \
	sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount; do
	ln -sf /dev/null $units/$unit
done
cat >$units/script.service <<'END'
[Unit]
After=multi-user.target dbus.service
[Service]
Type=oneshot
Environment=HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
ExecStart=/bin/sh -c '/bin/sh -e /root/script >/result/said 2>&1; echo $? >/result/ended.new; mv /result/ended.new /result/ended'
END
mkdir -p $units/multi-user.target.wants
ln -sf ../script.service $units/multi-user.target.wants/
cd root
exec chroot . /usr/bin/env -i container=other PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system --unit=multi-user.target --log-target=journal --show-status=no
