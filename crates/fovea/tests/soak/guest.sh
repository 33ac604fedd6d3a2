# SPDX-License-Identifier: GPL-2.0-only OR MIT
# First process of the phone in which one user works and another attacks the daemon: guest.sh SECONDS. What it finds goes to the console.
B=/bin/busybox
PATH=/bin; export PATH
$B --install -s /bin
seconds=$1
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /tmp
mount -t tmpfs -o mode=755 tmpfs /run
ip link set lo up
for module in /modules/*.ko; do insmod $module; done
root=/sys/fs/cgroup
works=$root/user.slice/user-1000.slice/user@1000.service/app.slice
attacks=$root/user.slice/user-1001.slice/user@1001.service/app.slice
system=$root/system.slice
mkdir -p $works $attacks $system/fovea.service $system/asks.service /run/fovea /media/dev/snd
# As systemd has it: the system's services and each user get their part of the CPUs, however many processes they have.
for folder in $root $system $root/user.slice $root/user.slice/user-100[01].slice $root/user.slice/user-100[01].slice/user@100[01].service $works $attacks; do
	for controller in cpu memory pids; do echo +$controller >$folder/cgroup.subtree_control; done
done
chown -R 1001:1001 $root/user.slice/user-1001.slice/user@1001.service
# A login's limits.
echo 3000 >$root/user.slice/user-1001.slice/pids.max
ulimit -n 1024
: >/media/dev/snd/pcmC0D0p
chmod 666 /media/dev/snd/pcmC0D0p
chmod 711 /run/fovea
printf '[daemon]\nmedia_root = "/media"\n' >/etc/fovea.toml
sh -c "echo \$\$ >$system/fovea.service/cgroup.procs; exec fovea run" 2>/tmp/said &
asked() { fovea status --json 2>/dev/null; }
until asked | grep -q '"pid"'; do :; done
n=0
while [ $n -lt 6 ]; do
	hostile as 1000 $works/app-work$n-$n.scope hold 40 &
	eval "pid$n=\$!"
	n=$((n + 1))
done
until [ "$(asked | grep -o '"name": *"work[0-9]' | wc -l)" -eq 6 ]; do :; done
hostile as 1001 $attacks/app-churn-1.scope churn $attacks 2>/dev/null &
hostile as 1001 $attacks/app-streams-1.scope streams /media/dev/snd/pcmC0D0p 2>/dev/null &
hostile as 1001 $attacks/app-sockets-1.scope sockets /run/fovea >/tmp/opened 2>/dev/null &
hostile as 1001 $attacks/app-forks-1.scope forks 1500 2>/dev/null &
hostile as 1001 $attacks/app-freezes-1.scope freezes $attacks/app-freezes-1.scope/cgroup.freeze 2>/dev/null &
sh -c "echo \$\$ >$system/asks.service/cgroup.procs; exec hostile ask /run/fovea $seconds" >/tmp/asked &
asker=$!
leaks=0 ended=0 tick=0 leaker=
while kill -0 $asker 2>/dev/null; do
	fovea focus work$((tick % 6)) >/dev/null 2>&1
	[ $((tick % 17)) -ne 16 ] || { fovea screen off; sleep 1; fovea screen on; } >/dev/null 2>&1
	if [ -n "$leaker" ] && ! kill -0 $leaker 2>/dev/null; then
		ended=$((ended + 1)) leaker=
	fi
	if [ -z "$leaker" ] && [ $((tick % 20)) -eq 10 ]; then
		hostile as 1001 $attacks/run-r$tick.scope leak 2>/dev/null &
		leaker=$! leaks=$((leaks + 1))
	fi
	tick=$((tick + 1))
	sleep 1
done
cat /tmp/asked
echo "leaks: $leaks"
echo "leaks that ended: $ended"
alive=0
for pid in $pid0 $pid1 $pid2 $pid3 $pid4 $pid5; do ! kill -0 $pid 2>/dev/null || alive=$((alive + 1)); done
echo "apps that live: $alive"
echo "oom kills: $(grep ^oom_kill /proc/vmstat | tr -cd 0-9)"
echo "open to others: $(wc -l </tmp/opened)"
grep -h '"action":"kill' /run/fovea/journal.kept.jsonl | grep -o '"app":"[^"]*"' | sort | uniq -c | sed 's/^/killed: /'
grep -h '"action":"kill' /run/fovea/journal.kept.jsonl | sed -n 's/.*"signal_after_ns":\([0-9]*\).*/signalled after ns: \1/p'
for process in /proc/[0-9]*; do
	[ "$(readlink $process/exe)" = /bin/fovea ] || continue
	echo "ran for, waited for a CPU, ns: $(tr '\0' ' ' <$process/cmdline): $(cut -d ' ' -f 1,2 <$process/schedstat)"
	echo "process $(tr '\0' ' ' <$process/cmdline): $(grep VmHWM $process/status)"
done
sed 's/^/said: /' /tmp/said | tail -40
echo "at the end"
# The machine of exact mode knows no other end.
reboot -f
