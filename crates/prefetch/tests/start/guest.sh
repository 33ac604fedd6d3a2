# SPDX-License-Identifier: GPL-2.0-only OR MIT
# First process of the phone in which apps start, with a disk that turns below their files: 8 ms a command. What it finds goes to
# the console.
B=/bin/busybox
PATH=/bin; export PATH
$B --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /tmp
for module in /modules/*.ko; do
	case $module in *null_blk*) insmod $module nr_devices=0 ;; *) insmod $module ;; esac
done
mount -t configfs configfs /sys/kernel/config
disk=/sys/kernel/config/nullb/disk
mkdir $disk
for setting in memory_backed=1 irqmode=2 completion_nsec=8000000 blocksize=4096 size=256 submit_queues=1 power=1; do
	echo ${setting#*=} >$disk/${setting%=*}
done
device=/dev/$(ls /sys/block | grep -E '^(nullb|disk)' | head -1)
mke2fs $device >/dev/null 2>&1
mkdir -p /data /state
mount -t ext4 $device /data || mount -t ext2 $device /data
random() { dd if=/dev/urandom of=$1 bs=4096 count=$2 2>/dev/null; }
mkdir /data/lib /data/user
random /data/lib/code 1024
random /data/user/pictures 4096
random /data/user/settings 64
sync
slice=/sys/fs/cgroup/user.slice/user-0.slice/user@0.service/app.slice
mkdir -p $slice

/prefetch --state /state run 2>/tmp/said &
prefetch=$!
status() { /prefetch --state /state status --json 2>/dev/null | tr -d ' \n'; }
of() { status | sed 's/},{/\n/g' | grep "\"app\":\"$1\"" | grep -o "\"$2\":[^,}]*" | cut -d: -f2; }
# It is ready when it sleeps in poll(2), having made its folder.
while [ ! -e /state/lock ] || ! grep -q '^State:.*S' /proc/$prefetch/status; do :; done

# app CGROUP FILE PAGES: of each 64 KiB of the first pages a quarter is read by itself, as a start touches here and there; then the app is
# there for a while. What its reads took, and how much of it the storage read for the app itself, is left for who started it.
cat >/tmp/app.sh <<'APP'
echo 0 >$1/cgroup.procs
exec 3<$2
# An app's own work before it reads: prefetching has that much time.
sleep 1
# Reads of 16 KiB, the last ones first, so that reading ahead does not do the same work.
begin=$(cut -d' ' -f1 /proc/uptime)
page=$3
while [ $page -gt 0 ]; do page=$((page - 16)); dd if=$2 of=/dev/null bs=4096 skip=$page count=4 2>/dev/null; done
end=$(cut -d' ' -f1 /proc/uptime)
echo "$begin $end $(grep ^read_bytes /proc/$$/io | tr -cd 0-9)" >/tmp/times
: >/tmp/started
sleep 5
APP
start() {
	n=$((n + 1))
	cgroup=$slice/app-gnome-$1-$n.scope
	mkdir $cgroup
	rm -f /tmp/started
	sh /tmp/app.sh $cgroup $2 $3 &
	app=$!
	while [ ! -e /tmp/started ]; do sleep 0.02; done
	awk -v name="$1" '{ printf "took %s: %d\nread %s: %d\n", name, ($2 - $1) * 1000, name, $3 }' /tmp/times
	wait $app
	# The scope goes when the last process has gone, as systemd does it.
	until rmdir $cgroup 2>/dev/null; do sleep 0.1; done
}
# starts APP, and waits until what was learned is kept.
cold() {
	sync; echo 3 >/proc/sys/vm/drop_caches
	known=$(of $1 starts)
	start "$@"
	waited=0
	while [ "$(of $1 starts)" = "$known" ] && [ $waited -lt 100 ]; do sleep 0.1; waited=$((waited + 1)); done
}
n=0
echo "first"
cold gimp /data/lib/code 512
cold gimp /data/lib/code 512
echo "accuracy: $(of gimp accuracy_percent)"
echo "expected: $(of gimp expected_bytes)"
echo "second"
cold gimp /data/lib/code 512
echo "prefetched: $(of gimp prefetched_bytes)"
echo "wasted: $(of gimp wasted_bytes)"
echo "timely: $(of gimp timeliness_percent)"

# Another file at the same path: nothing of it is prefetched.
random /data/lib/new 1024
mv /data/lib/new /data/lib/code
cold gimp /data/lib/code 512
echo "prefetched after an upgrade: $(of gimp prefetched_bytes)"

# A file system that never answers, mounted over what an app reads.
cold viewer /data/user/pictures 512
cold viewer /data/user/pictures 512
exec 4<>/dev/fuse
mount -t fuse -o fd=4,rootmode=40000,user_id=0,group_id=0 silent /data/user || echo "no fuse"
start viewer /data/lib/code 16 &
silent=$!
# Meanwhile others are served.
start gimp /data/lib/code 512
until [ "$(of gimp starts)" = 5 ]; do sleep 0.2; done
echo "starts of gimp: $(of gimp starts)"
wait $silent
until grep -q 'did not answer' /tmp/said; do sleep 0.2; done
echo "a silent file system ended one start alone"
exec 4>&-
umount -l /data/user

wakeups() { grep ^voluntary /proc/$prefetch/task/*/status | tr -cd '0-9\n' | head -1; }
sleep 3
before=$(wakeups)
sleep 20
echo "wake-ups in 20 s: $(($(wakeups) - before))"
grep -E '^VmHWM:' /proc/$prefetch/status | tr -s '\t ' ' '
sed 's/^/said: /' /tmp/said
/prefetch --state /state status | sed 's/^/status: /'
echo "at the end"
poweroff -f
