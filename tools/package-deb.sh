#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# usage: package-deb.sh MAKE
# Builds Debian's packages of this tree into target/deb. The tree is copied to target/deb/fovea-VERSION, where what was built stays for the next
# time. DEBFULLNAME and DEBEMAIL name who packages. FOVEA_WITHOUT="nopython nolab" leaves
# those packages out.
set -eu
make=$1
top=$(cd "$(dirname "$0")/.." && pwd)
for tool in dpkg-buildpackage dh dh_dkms cc cargo; do
	command -v "$tool" >/dev/null || { echo "$tool is missing; apt-get install build-essential debhelper dh-dkms cargo" >&2; exit 3; }
done
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$top/Cargo.toml")
built=$top/target/deb/fovea-$version
mkdir -p "$built"
# All but what was built there: files that are gone from the tree go.
find "$built" -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +
# A release that was unpacked is no checkout.
is_checkout() { [ -e "$top/.git" ] && command -v git >/dev/null; }
sources() {
	if is_checkout; then git ls-files -z --cached --others --exclude-standard; else
		find . -name target -prune -o -name .git -prune -o ! -type d -print0
	fi
}
(cd "$top" && sources | tar --null --ignore-failed-read --files-from=- --create 2>/dev/null) | tar -x -C "$built"
cp -r "$built/packaging/debian" "$built/debian"
who="${DEBFULLNAME:-The Fovea developers} <${DEBEMAIL:-$(id -un)@$(hostname -f 2>/dev/null || uname -n)}>"
is_checkout && changed=$(git -C "$top" log -1 --format=%ct) || changed=$(stat -c %Y "$top/CHANGELOG.md")
when=@${SOURCE_DATE_EPOCH:-$changed}
sed -i "s/@MAINTAINER@/$who/; s/@VERSION@/$version/; s/@DATE@/$(date -R -d "$when")/; s/@YEAR@/$(date +%Y -d "$when")/" \
	"$built/debian/control" "$built/debian/changelog" "$built/debian/copyright"
if is_checkout; then
	FOVEA_COMMIT=$(git -C "$top" describe --always --dirty --abbrev=12 --exclude='*')
	export FOVEA_COMMIT
fi
profiles=
for what in ${FOVEA_WITHOUT:-}; do profiles="$profiles fovea.$what"; done
# Whoever has cargo from elsewhere has not Debian's package of it.
(cd "$built" && MAKE=$make DEB_BUILD_PROFILES="$profiles" DEB_BUILD_OPTIONS="noautodbgsym ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage -d -b -us -uc)
ls -l "$top"/target/deb/*.deb
