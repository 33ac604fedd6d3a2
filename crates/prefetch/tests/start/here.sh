#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Apps of a user start on this machine, in namespaces of PIDs, mounts and cgroups of their own: here.sh PROGRAM FOLDER. What it finds is
# printed. Nothing outside FOLDER and the cgroup that it is started in is changed.
set -eu
prefetch=$1 folder=$2 user=54321
mount --make-rprivate /
mounted=$(awk '$9 == "cgroup2" || $10 == "cgroup2" { print $5; exit }' /proc/self/mountinfo)
umount "$mounted"
mount -t cgroup2 cgroup2 "$mounted"
slice=$mounted/user.slice/user-$user.slice/user@$user.service/app.slice
mkdir -p "$slice"
cd "$folder"
mkdir state data
chmod 755 . data
head -c 2M /dev/urandom >data/code
head -c 1M /dev/urandom >data/private
chmod 644 data/*
sync data/*
mkfifo go
"$prefetch" --state "$folder/state" run 2>said &
running=$!
status() { "$prefetch" --state "$folder/state" status viewer --json 2>/dev/null | tr -d ' \n' | grep -o "\"$1\":[^,}]*" | cut -d: -f2; }
pages() { fincore --noheadings --output PAGES "data/$1" | tr -d ' '; }
until [ -e state/lock ] && grep -q '^State:.*S' /proc/$running/status; do :; done

cat >app.sh <<'APP'
exec 4<data/code
[ ! -r data/private ] || exec 5<data/private
read go
# The last ones first, so that reading ahead does not do the same work.
for file in $1; do
	page=256
	while [ $page -gt 0 ]; do page=$((page - 16)); dd if=data/$file of=/dev/null bs=4096 skip=$page count=4 2>/dev/null; done
done
echo "read by the app itself: $(grep ^read_bytes /proc/$$/io | tr -cd 0-9)"
read go
APP
n=0
begin() { # begin WHAT-IT-READS: a user's manager starts processes as that user, and they enter the scope before they run the app.
	n=$((n + 1))
	scope=$slice/app-gnome-viewer-$n.scope
	mkdir "$scope"
	for file in code private; do dd if=data/$file iflag=nocache count=0 2>/dev/null; done
	setpriv --reuid=$user --regid=$user --clear-groups sh app.sh "$1" <go &
	app=$!
	exec 3>go
	until grep -q "^Uid:.$user" /proc/$app/status; do :; done
	echo $app >"$scope/cgroup.procs"
}
kept() { until [ "$(status starts)" = $n ]; do kill -0 $running; sleep 0.1; done; }
end() {
	exec 3>&-
	wait $app || true
	until rmdir "$scope" 2>/dev/null; do sleep 0.1; done
}
for turn in 1 2; do
	begin "code private"
	echo go >&3
	kept
	end
done
echo "accuracy: $(status accuracy_percent)"
# Now it is there before the app asks.
begin "code private"
kept
echo "prefetched pages: $(pages code) $(pages private)"
echo go >&3
echo go >&3
end
# What the user may not read any more is not read for that user; the rest is.
chmod 600 data/private
begin "code"
kept
echo "pages of what may be read: $(pages code)"
echo "pages of what may not: $(pages private)"
end
# Another file in its place, as an upgrade has it: what was learned of the old one does not count.
head -c 2M /dev/urandom >data/new
chmod 644 data/new
sync data/new
mv data/new data/code
begin ""
kept
echo "pages of an upgraded file: $(pages code)"
end
for turn in again scored; do
	begin "code"
	echo go >&3
	kept
	end
done
# A file system that never answers, mounted over what the app reads: that start goes without, and another app's is attended to meanwhile.
rest() { # rest APP: one that only rests.
	scope=$slice/app-gnome-$1-99.scope
	mkdir "$scope"
	setpriv --reuid=$user --regid=$user --clear-groups sleep 60 3>&- 9>&- &
	until grep -q "^Uid:.$user" /proc/$!/status; do :; done
	echo $! >"$scope/cgroup.procs"
	resting="${resting:-} $!"
}
if [ -c /dev/fuse ] && grep -qw fuse /proc/filesystems; then
	exec 9<>/dev/fuse
	mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 silent "$folder/data"
	rest viewer
	rest other
	until grep -aq other state/$user.launch; do kill -0 $running; sleep 0.1; done
	grep -q 'did not answer' said || echo "served: beside a silent file system"
	until grep -q 'did not answer' said; do kill -0 $running; sleep 0.1; done
	exec 9>&-
	umount -l "$folder/data"
	echo "silent: one start went without"
	kill $resting
fi
# A link in place of a folder on the way, to the same file.
mv data elsewhere
ln -s elsewhere data
begin "code"
kept
# Of this file alone: others' pages, as the shell's, come and go with what else runs here.
echo "pages through a link: $(pages code)"
end
# No space is left for what is learned: that is said, and what was kept stays.
cp -a state kept-state
mount -t tmpfs -o size=256k full "$folder/state"
cp -a kept-state/. state/
head -c 1M /dev/zero >state/filler 2>/dev/null || true
before=$(status starts)
begin "code"
until grep -q 'free some space' said; do kill -0 $running; sleep 0.1; done
end
echo "starts forgotten on a full disk: $((before - $(status starts)))"
umount -l "$folder/state"
sed 's/^/said: /' said
wakeups() { grep ^voluntary /proc/$running/status | tr -cd 0-9; }
# The last start's process has been buried by then.
until [ -z "$(cat /proc/$running/task/$running/children)" ]; do sleep 0.1; done
sleep 1
before=$(wakeups)
sleep 10
echo "wake-ups in 10 s: $(($(wakeups) - before))"
# That the count can tell: a cgroup that comes wakes it.
mkdir "$slice/some.slice"
until [ "$(wakeups)" -gt "$before" ]; do :; done
grep '^VmHWM:' /proc/$running/status | tr -s '\t ' ' '
kill $running
wait $running || true
find "$mounted/user.slice" -depth -type d -exec rmdir {} \;
echo "at the end"
