# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Fovea's laboratory: traces, replay of cache policies, miss-ratio curves, sweeps. docs/guide/python.md tells how to use it."""

from ._cache import Cache
from ._commands import ecache, experiments, export, filter, hybrid, import_trace, info, make, reproduce
from ._lab import mrc, policies, replay, sweep
from ._native import Error, Trace, __version__
from ._policy import Policy
from ._results import Results
from ._traces import trace

__all__ = [
    "Cache",
    "Error",
    "Policy",
    "Results",
    "Trace",
    "__version__",
    "ecache",
    "experiments",
    "export",
    "filter",
    "hybrid",
    "import_trace",
    "info",
    "make",
    "mrc",
    "policies",
    "replay",
    "reproduce",
    "sweep",
    "trace",
]
