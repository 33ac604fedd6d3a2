#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# dracut's module: makes the volumes of /etc/fovea/volumes before root is mounted (dracut.modules(7)). Left out where that file names none.

check() {
	grep -q '^[^#[:space:]]' "${dracutsysrootdir-}/etc/fovea/volumes" 2>/dev/null || return 1
	require_binaries dmsetup || return 1
	return 0
}

depends() {
	echo dm
}

installkernel() {
	# These are of no bus: whoever takes along what this machine has would leave them out.
	hostonly='' instmods dm-aciom
	if grep -q '^[^#].*[[:space:]]ecache' "${dracutsysrootdir-}/etc/fovea/volumes"; then
		hostonly='' instmods dm-ecache
	fi
}

install() {
	inst_multiple dmsetup modprobe readlink basename cat sleep
	inst_simple /etc/fovea/volumes
	# The module's options say what memory and which devices there are.
	inst_multiple -o /etc/modprobe.d/*.conf
	inst_rules 60-fovea.rules
	inst_script "$moddir/fovea-volumes" /usr/lib/fovea/fovea-volumes
	# Each time that udev has nothing left to do: those whose devices have come.
	inst_hook initqueue/settled 50 "$moddir/settled.sh"
	# When nothing more is waited for: those that have not come are said.
	inst_hook initqueue/timeout 50 "$moddir/timeout.sh"
}
