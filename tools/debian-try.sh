# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=sh
# On a fresh machine of Debian (tools/debian-machine.sh) with Fovea's packages in /given: installs them as a user would, uses, upgrades, removes
# and purges them. Names each thing that is not as it should be, and ends with 1 if there was one.
set +e -u
failed=0
wrong() { # wrong WHAT: with the end of what was said
	echo "FAILED: $1"
	tail -n 12 /root/output
	failed=1
}
must() { # must WHAT COMMAND...
	what=$1
	shift
	"$@" >/root/output 2>&1 || wrong "$what: $*"
}
no() { # no WHAT COMMAND...: the command must fail
	what=$1
	shift
	if "$@" >/root/output 2>&1; then wrong "$what: $*"; fi
}
has() { grep -q -- "$1" /root/output || wrong "'$1' is not in:"; }
files() { find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /root -o -path /var/tmp -o -path /var/cache -o -path /var/log \
	-o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/lib/systemd/deb-systemd-helper-enabled \) -prune -o -print | sort; }
answers() { # the daemon takes a moment from its start to its first answer
	tries=0
	until fovea status >/root/output 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 100 ] || { journalctl -u fovea --no-pager >>/root/output; wrong "the daemon does not answer"; return; }
		sleep 0.1
	done
}
became() { # became STATE UNIT: systemd has taken the unit there
	tries=0
	until [ "$(systemctl is-active "$2")" = "$1" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 100 ] || { journalctl -u "$2" --no-pager >/root/output; wrong "$2 is $(systemctl is-active "$2"), not $1"; return; }
		sleep 0.1
	done
}
pid() { systemctl show -P MainPID fovea; }

apt-get update -qq >/dev/null
# What the packages need, so that it is no difference later.
must dependencies apt-get install -y -qq --no-install-recommends adduser libpam-systemd dkms man-db python3 make procps
useradd -m -u 1000 somebody
echo 'somebody ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/somebody
files >/root/before

echo "one package, as the guide says"
begun=$(date +%s%N)
must install apt-get install -y -qq --no-install-recommends /given/fovea_*.deb
answers
echo "from the package to a daemon that answers: $((($(date +%s%N) - begun) / 1000000)) ms"
became active fovea
must "on at the next boot" systemctl is-enabled fovea
must "notifications are on" systemctl --global is-enabled fovea-kills
must manual man -w fovea.toml
fovea check >/root/output 2>&1 || [ $? = 3 ] || wrong "fovea check"
# Whoever logs in is found.
must login loginctl enable-linger somebody
became active fovea-auto@1000.service
became active fovea-session@1000.service
must "the package's own test" sh /given/fovea-[0-9]*/packaging/debian/tests/service
for helper in top metrics prefetch lab; do
	fovea $helper --help >/root/output 2>&1 && continue
	has "fovea-$helper"
done


# The guide's commands, as a user types them.
guide=$(echo /given/fovea-[0-9]*/docs/guide/install.md)
awk '/^```sh (run|daemon)$/ { code = 1; next } /^```/ { code = 0 } code' "$guide" >/root/typed
while read -r line; do
	must "typed by a user" su somebody -s /bin/sh -c "cd; $line"
done <"/root/typed"

echo "all packages"
must install apt-get install -y -qq --no-install-recommends /given/*.deb
must top fovea top --once
must metrics fovea metrics
has fovea_
must prefetch fovea prefetch status
became active fovea-bus
must bus su somebody -s /bin/sh -c "busctl call org.fovea1 /org/fovea1 org.fovea1 Status b false"
must "the bus is nobody of importance" sh -c '[ "$(ps -o user= -p "$(systemctl show -P MainPID fovea-bus)")" = fovea-bus ]'
must lab fovea lab --help
[ ! -e /given/python3-fovea-lab_*.deb ] || must python python3 -c 'import fovea'
for page in fovea-top fovea-metrics fovea-prefetch fovea-ecache fovea.toml fovea.7; do
	case $page in fovea.7) must manual man -w 7 fovea ;; *) must manual man -w $page ;; esac
done
mkdir -p /var/lib/prometheus/node-exporter
must timer systemctl enable --now fovea-metrics.timer
must prefetch systemctl enable --now fovea-prefetch
became active fovea-prefetch
must metrics systemctl start fovea-metrics
must metrics grep -q fovea_ /var/lib/prometheus/node-exporter/fovea.prom

echo "upgrade"
mkdir /root/newer
for deb in /given/*.deb; do
	name=$(basename "$deb" .deb)
	dpkg-deb -R "$deb" /root/unpacked
	sed -i 's/^Version: \(.*\)/Version: \1+next/; s/(= \([0-9.]*\))/(= \1+next)/' /root/unpacked/DEBIAN/control
	dpkg-deb -b /root/unpacked "/root/newer/$name.deb" >/dev/null
	rm -r /root/unpacked
done
printf '[lists]\nprotect = ["mine"]\n' >/etc/fovea.toml
must reload systemctl reload fovea
must off systemctl disable fovea-kills --global
# As a version had it that called the unit so.
ln -s /usr/lib/systemd/system/fovea-watch@.service /etc/systemd/system/multi-user.target.wants/fovea-watch@sway.service
before=$(pid)
must upgrade apt-get install -y -qq --no-install-recommends /root/newer/*.deb
answers
[ "$(pid)" != "$before" ] || wrong "the old daemon runs on after the upgrade"
became active fovea
became active fovea-auto@1000.service
became active fovea-prefetch
must "sources stay enabled" systemctl is-enabled fovea-source@sway
no "the old name is gone" ls /etc/systemd/system/multi-user.target.wants/fovea-watch@sway.service
must "what the owner wrote stays" grep -q mine /etc/fovea.toml
no "what the owner turned off stays off" systemctl --global is-enabled fovea-kills
for process in /proc/[0-9]*/exe; do
	case $(readlink "$process") in *fovea*deleted*) tr '\0' ' ' <"${process%exe}cmdline" >/root/output; wrong "runs on from a deleted file: $process" ;; esac
done

echo "remove"
must remove apt-get remove -y -qq '?name(fovea)'
no "no process is left" pgrep -l fovea
became inactive fovea
no "no user is watched" systemctl is-active fovea-auto@1000
must "the owner's file stays" test -f /etc/fovea.toml
no "units are gone" ls /usr/lib/systemd/system/fovea*

echo "installed again"
must install apt-get install -y -qq --no-install-recommends /given/fovea_*.deb
answers
must "on at the next boot" systemctl is-enabled fovea
must purge apt-get purge -y -qq '?name(fovea)'
no "no process is left" pgrep -l fovea
no "no unit is known" systemctl cat fovea

echo "from the sources"
# The shell still knows where the package had it.
hash -r
must make make -C /given/fovea-[0-9]* install
must setup fovea setup --dry-run
must enable systemctl enable --now fovea
answers
before=$(pid)
must "installed over itself" make -C /given/fovea-[0-9]* install
answers
[ "$(pid)" != "$before" ] || wrong "the old daemon runs on after make install"
must uninstall make -C /given/fovea-[0-9]* uninstall
no "no process is left" pgrep -l fovea
no "no unit is known" systemctl cat fovea
loginctl disable-linger somebody
files >/root/after
# The owner's folder was made above, and Python keeps what it compiled of its own.
diff /root/before /root/after | grep '^[<>]' | grep -v -e /var/lib/prometheus -e __pycache__ -e /etc/resolv.conf >/root/output &&
	wrong "all is gone, and this is not as it was:"
[ "$failed" = 0 ] && echo "passed"
exit "$failed"
