# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Fovea's laboratory: traces, replay of cache policies, miss-ratio curves, sweeps. docs/guide/python.md tells how to use it."""

from ._lab import mrc, policies, replay, sweep
from ._native import Error, Trace, __version__
from ._policy import Policy
from ._results import Results

__all__ = ["Error", "Policy", "Results", "Trace", "__version__", "mrc", "policies", "replay", "sweep"]
