#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Prints the Debian mirror that serves: FOVEA_MIRROR, else the first of the host's.
set -eu
mirror=${FOVEA_MIRROR:-$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' |
	sed -n 's/^Debian Debian //p' | head -1)}
[ -n "$mirror" ] || { echo "no Debian mirror among apt's sources; run this on Debian, or set FOVEA_MIRROR" >&2; exit 3; }
echo "$mirror"
