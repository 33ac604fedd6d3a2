# SPDX-License-Identifier: GPL-2.0-only OR MIT
import os
from typing import Any

__version__: str

class Error(Exception):
    """What was wrong, where, and the mend: one line."""

class Trace:
    """A trace in memory, as Arrow record batches."""

    @staticmethod
    def open(
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        csv: str | dict[str, Any] | None = None,
        order: str = "reject",
        skip_bad: bool = False,
        whole_requests: bool = False,
        apps: dict[str, str] | list[str] = ...,
        blkparse_action: str | None = None,
    ) -> Trace:
        """Reads a trace file, or a foreign trace as ``fovea trace import`` does with these options."""

    @staticmethod
    def from_arrow(source: Any, columns: dict[str, str | None] | None = None, time_unit: str | None = None) -> Trace:
        """Takes whatever speaks the Arrow C stream interface; columns of 64-bit numbers are not copied."""

    @staticmethod
    def from_columns(
        source: dict[str, Any], columns: dict[str, str | None] | None = None, time_unit: str | None = None
    ) -> Trace:
        """Takes columns by name: buffers of numbers, or lists. fovea.trace makes them of arrays."""

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a trace file; it appears under its name when it is whole."""

    @property
    def notes(self) -> dict[str, str]:
        """Where it comes from and what was dropped."""

    @property
    def understood(self) -> str:
        """What its source was understood as: which column is what."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Requests:
    def __init__(self, trace: str | os.PathLike[str] | Trace, shape: dict[str, Any]) -> None: ...
    def __len__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def footprint(self) -> tuple[int, int]: ...
    def resolve(self, size: str) -> tuple[int, bool, str]: ...
    def chunk(self, start: int, most: int) -> tuple[list[int], list[int]]: ...
    def warm_up(self, counting: dict[str, Any]) -> int: ...

class Steps:
    def __init__(self, policy: str, size: str, tells_evictions: bool) -> None: ...
    @property
    def capacity(self) -> int: ...
    @property
    def by_bytes(self) -> bool: ...
    @property
    def policy(self) -> str: ...
    @property
    def used(self) -> int: ...
    def get(self, id: int, size: int, time_ns: int) -> tuple[bool, bool, list[int]]: ...
    def contains(self, id: int) -> bool: ...

_Source = str | os.PathLike[str] | Trace

def replay(
    trace: _Source,
    policies: list[str],
    sizes: list[str],
    shape: dict[str, Any],
    counting: dict[str, Any],
    seeds: int,
) -> tuple[str, str, str]: ...
def mrc(
    trace: _Source,
    policies: list[str],
    sizes: list[str],
    shape: dict[str, Any],
    rate: float,
    exact: bool,
    shards: bool,
    threads: int | None,
) -> tuple[str, str]: ...
def sweep(
    traces: list[str],
    policies: list[str],
    sizes: list[str],
    shape: dict[str, Any],
    counting: dict[str, Any],
    output: str,
    threads: int | None,
) -> tuple[str, str, int]: ...
def plan(
    traces: list[str], policies: list[str], sizes: list[str], shape: dict[str, Any], counting: dict[str, Any]
) -> tuple[list[str], list[tuple[str, str]]]: ...
def policies() -> list[tuple[str, str, list[tuple[str, float, float, float, str]]]]: ...
def import_trace(input: str, output: str, foreign: dict[str, Any]) -> str: ...
def info(trace: str) -> str: ...
def make(output: str, requests: int, objects: int, zipf: float, once_percent: float, seed: int) -> None: ...
def filter(
    trace: str,
    output: str,
    from_s: float | None,
    to_s: float | None,
    names: list[str] | None,
    apps: list[str] | None,
    sample: float | None,
    seed: int,
) -> int: ...
def export(trace: str, output: str, reads_only: bool, names: list[str] | None, from_start: bool) -> int: ...
def experiments() -> list[tuple[str, str, str, str]]: ...
def reproduce_papers(ids: list[str], seed: int, seeds: int | None, quick: bool, threads: int | None) -> str: ...
def hybrid(trace: str, policies: list[str], sizes: list[str], dram_percent: float, foreground: list[str]) -> str: ...
def ecache(traces: list[str], launches: int, seed: int, width: int) -> str: ...
