# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""maturin, told that this is no static program: the repository's .cargo/config.toml makes those, and only this variable overrides it."""

import os

os.environ.setdefault("RUSTFLAGS", "-C target-feature=-crt-static")

from maturin import *  # noqa: E402, F403
