# SPDX-License-Identifier: GPL-2.0-only OR MIT
# First process of the phone in which the daemon is watched while nothing happens. What it finds goes to the console.
B=/bin/busybox
PATH=/bin; export PATH
$B --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /tmp
mkdir -p /tmp/run
for module in /modules/*.ko; do insmod $module; done
slice=/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice
mkdir -p $slice
n=0
while [ $n -lt 300 ]; do
	mkdir $slice/app-gnome-org.example.App$n-$n.scope
	sleep 100000 &
	echo $! >$slice/app-gnome-org.example.App$n-$n.scope/cgroup.procs
	n=$((n + 1))
done
printf '[daemon]\nrun_folder = "/tmp/run"\n[lists]\nprotect = ["nobody"]\n' >/tmp/fovea.toml
fovea --config /tmp/fovea.toml run 2>/tmp/said &
status() { fovea --config /tmp/fovea.toml status --json 2>/dev/null; }
apps() { status | grep -o '"cgroup"' | wc -l; }
while [ "$(apps)" -lt 300 ]; do :; done
while status | grep -q '"busy": *true'; do :; done
echo "apps: $(apps)"
status | tr -d ' \n' | grep -o '"missing":\[[^]]*\]'
supervisor=$(pidof fovea | tr ' ' '\n' | sort -n | head -1)
worker=$(status | grep -o '"pid": *[0-9]*' | head -1 | tr -cd 0-9)
wakeups() { cat /proc/$supervisor/task/*/status /proc/$worker/task/*/status | grep ^voluntary | tr -cd '0-9\n' | tr '\n' ' '; }
total() { sum=0; for count in $(wakeups); do sum=$((sum + count)); done; echo $sum; }
# The end of the client that asked last is served by then.
sleep 5
before=$(total)
sleep 60
echo "wake-ups in 60 s: $(($(total) - before))"
for pid in $supervisor $worker; do grep -E '^(VmHWM|RssAnon):' /proc/$pid/status | sed "s/^/process /"; done
# That the count can tell: a client wakes the worker. It is counted as the worker sleeps again, which may be after the client has its answer; a
# count that cannot tell would have the boot run out of time.
before=$(total)
status >/dev/null
while [ "$(total)" -eq "$before" ]; do :; done
echo "wake-ups by a client: $(($(total) - before))"
sed 's/^/said: /' /tmp/said
echo "at the end"
poweroff -f
