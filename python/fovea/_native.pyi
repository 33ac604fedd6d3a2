# SPDX-License-Identifier: GPL-2.0-only OR MIT
import os
from typing import Any

__version__: str

class Error(Exception):
    """What was wrong, where, and the mend: one line."""

class Trace:
    """A trace in memory, as Arrow record batches."""

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Trace:
        """Reads a trace file, or a foreign trace as ``fovea trace import`` does."""

    @staticmethod
    def from_arrow(source: Any) -> Trace:
        """Takes whatever speaks the Arrow C stream interface; its columns are not copied."""

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a trace file; it appears under its name when it is whole."""

    @property
    def notes(self) -> dict[str, str]:
        """Where it comes from and what was dropped."""

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

_Source = str | os.PathLike[str] | Trace

def replay(
    trace: _Source, policies: list[str], sizes: list[str], shape: dict[str, Any], counting: dict[str, Any]
) -> tuple[str, str]: ...
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
