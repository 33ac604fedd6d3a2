#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
WAIT_S=0 sh /usr/lib/fovea/fovea-volumes make
