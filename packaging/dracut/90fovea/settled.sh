#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
sh /usr/lib/fovea/fovea-volumes try
