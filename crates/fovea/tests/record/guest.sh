# SPDX-License-Identifier: GPL-2.0-only OR MIT
# First process of the phone in which `fovea trace record` is tested. What it finds goes to the console, files as base64.
B=/bin/busybox
PATH=/bin; export PATH
$B --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /tmp
for module in /modules/*.ko; do insmod $module; done
mount -t configfs configfs /sys/kernel/config
disk=/sys/kernel/config/nullb/n0
mkdir $disk
echo 1 >$disk/memory_backed
echo 2 >$disk/irqmode
echo 150000 >$disk/completion_nsec
echo 128 >$disk/size
echo 1 >$disk/power
dd if=/disk.img of=/dev/n0 bs=1M 2>/dev/null
rm /disk.img
mount -t ext4 /dev/n0 /mnt
mount -t proc proc /mnt/proc
mount -t devtmpfs devtmpfs /mnt/dev
cold() { sync; echo 3 >/proc/sys/vm/drop_caches; }
instances() { echo "$1 instances: $(ls /sys/kernel/tracing/instances | wc -l)"; }
at() { echo "at $(cut -d" " -f1 /proc/uptime) s: $1"; }
file() { echo "=== file $1"; base64 $1; echo "=== end"; }
# Runs a recording; says how it ended and what it said.
record() {
	name=$1; shift
	fovea trace record -o /tmp/$name.parquet --json /tmp/$name.json "$@" >/tmp/$name.out 2>/tmp/$name.err
	echo "$name status: $?"
	sed "s/^/$name says: /" /tmp/$name.err
}

at programs
cold; record python -- chroot /mnt python3 /data/load.py
cold; record git -- chroot /mnt git -C /data/repository log --stat --format=%s
cold; record sqlite -- chroot /mnt sqlite3 /data/notes.db ".read /data/query.sql"
sed 's/^/sqlite out: /' /tmp/sqlite.out
sed 's/^/python out: /' /tmp/python.out
echo "git out: $(wc -l </tmp/git.out)"
stat -c 'inode notes.db %i' /mnt/data/notes.db
instances after-three

at failures
# How it fails, and what it keeps.
record exit-status -- sh -c 'exit 7'
record not-found -- /no/such/program
ls /tmp/not-found.parquet 2>/dev/null
record bad-cgroup --cgroup no/such
at full
mkdir /small; mount -t tmpfs -o size=4200k tmpfs /small
fovea trace record -o /small/full.parquet -- dd if=/mnt/data/zeros of=/dev/null bs=512 2>/tmp/full.err
echo "full status: $?"
sed 's/^/full says: /' /tmp/full.err
ls /small | sed 's/^/full left: /'
cp /small/full.parquet /tmp
record signal -- sh -c 'kill -INT $PPID; exec sleep 1000'
killall sleep
fovea trace record -o /tmp/killed.parquet -- sh -c 'kill -9 $PPID'
instances after-kill
ls /tmp/killed.parquet 2>/dev/null
at lossy
record lossy --all --buffer-kib 64 -- dd if=/mnt/data/zeros of=/dev/null bs=64 count=30000
instances after-sweep

# Whose it is.
at apps
mkdir -p /sys/fs/cgroup/apps/mail
sh -c 'echo $$ >/sys/fs/cgroup/apps/mail/cgroup.procs; while :; do cat /mnt/data/small >/dev/null; usleep 20000; done' &
loop=$!
until grep -q . /sys/fs/cgroup/apps/mail/cgroup.procs; do :; done
record cgroup --cgroup apps/mail --seconds 1
record pid --pid $loop --seconds 1
kill $loop
mkdir /run/fovea
printf '[zram]\nenabled = false\n[daemon]\ndiscover = false\n' >/tmp/fovea.toml
fovea run --config /tmp/fovea.toml >/tmp/daemon.log 2>&1 &
until fovea status >/dev/null 2>&1; do usleep 50000; done
fovea launch maps --role service --focus -- sh -c 'while :; do cat /mnt/data/small >/dev/null; usleep 20000; done' &
until fovea status | grep -q maps; do usleep 50000; done
record daemon --all -- sh -c 'usleep 400000; fovea focus --none; usleep 400000'

at files
for name in python git sqlite signal lossy; do file /tmp/$name.json; done
for name in python git sqlite full cgroup pid daemon; do file /tmp/$name.parquet; done
at end
echo "the end"
reboot -f
