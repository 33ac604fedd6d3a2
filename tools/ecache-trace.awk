# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Turns what tracefs prints of dm-ecache's events into a trace for `fovea lab ecache` (docs/guide/lab-formats.md, "The eCache's traces"):
#
#   awk -v devices=mfc0:8704,mfc1:9216 -f ecache-trace.awk trace_pipe.txt | zstd > phone.txt.zst
#
# with each reservation's name and size in pages. A page goes by its device and block, which is what the module's cache goes by.
BEGIN {
	print "# fovea ecache trace 1"
	count = split(devices, list, ",")
	for (i = 1; i <= count; i++) {
		split(list[i], d, ":")
		print "device", d[1], d[2]
	}
}
# TASK-PID [CPU] FLAGS SECONDS.MICROS: ecache_get: dev=253:0 ino=51 index=0 block=17152 hit=0
match($0, /[0-9]+\.[0-9]+: ecache_(get|put|alloc|free): /) {
	at = substr($0, RSTART, RLENGTH)
	split(at, part, ": ")
	split(part[1], time, ".")
	what = substr(part[2], 8)
	delete value
	fields = split(substr($0, RSTART + RLENGTH), word, " ")
	for (i = 1; i <= fields; i++) {
		eq = index(word[i], "=")
		value[substr(word[i], 1, eq - 1)] = substr(word[i], eq + 1)
	}
	ns = time[1] substr(time[2] "000000000", 1, 9)
	sub(/^0+/, "", ns)
	if (what == "get" || what == "put") {
		split(value["dev"], dev, ":")
		print ns, what, dev[1] * 1048576 + dev[2], value["block"]
	} else if (what == "alloc") {
		print ns, what, value["name"], value["count"]
	} else {
		print ns, what, value["name"]
	}
}
/LOST/ { print "ecache-trace: " $0 > "/dev/stderr"; lost = 1 }
END { if (lost) { print "ecache-trace: events were lost: make buffer_size_kb larger" > "/dev/stderr"; exit 1 } }
