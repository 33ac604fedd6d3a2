# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What the command line has beside replay: import, info, make, filter, export, and the papers' experiments."""

from __future__ import annotations

import json
import os
from typing import Any, Iterable

from . import _native, _remote
from ._native import Error
from ._results import Results
from ._traces import foreign

_Path = str | os.PathLike[str]


def _file(trace: _Path, what: str) -> str:
    if not isinstance(trace, (str, os.PathLike)):
        raise Error(f"{what}: takes a trace's file; write a trace in memory with Trace.write first, and name that file")
    return _remote.local(os.fspath(trace))


def _each(values: Any) -> list[str]:
    return [values] if isinstance(values, str) else [str(value) for value in values]


def _split(values: Any) -> list[str]:
    return [text for value in _each(values) for text in value.split(",")]


def import_trace(
    source: _Path,
    output: _Path,
    *,
    format: str | None = None,
    csv: str | dict[str, Any] | None = None,
    order: str = "reject",
    skip_bad: bool = False,
    whole_requests: bool = False,
    apps: dict[str, str] | Iterable[str] = (),
    blkparse_action: str | None = None,
) -> dict[str, Any]:
    """Turns a foreign trace into a trace file, as ``fovea trace import``, and says what it was understood as.

    ``csv`` is what is known of a table's columns: ``{"time": 1, "id": "key", "time-unit": "ms"}`` or the same as text.
    """
    how = foreign(format, csv, order, skip_bad, whole_requests, apps, blkparse_action)
    return json.loads(_native.import_trace(_file(source, "import_trace"), os.fspath(output), how))


def info(trace: _Path) -> dict[str, Any]:
    """What a trace file holds."""
    return json.loads(_native.info(_file(trace, "info")))


def make(
    output: _Path,
    *,
    requests: int = 1_000_000,
    objects: int = 100_000,
    zipf: float = 1.0,
    once_percent: float = 0.0,
    seed: int = 1,
) -> None:
    """Makes a trace up: requests by Zipf's law."""
    _native.make(os.fspath(output), requests, objects, zipf, once_percent, seed)


def filter(
    trace: _Path,
    output: _Path,
    *,
    start: float | None = None,
    end: float | None = None,
    ops: str | Iterable[str] | None = None,
    apps: str | Iterable[str] | None = None,
    sample: float | None = None,
    seed: int = 1,
) -> int:
    """Makes a trace file of a part of one: seconds after its first record, operations, apps, a share of the objects. Returns the records."""
    kept = (None if ops is None else _split(ops), None if apps is None else _each(apps))
    return _native.filter(_file(trace, "filter"), os.fspath(output), start, end, *kept, sample, seed)


def export(
    trace: _Path,
    output: _Path,
    *,
    reads_only: bool = False,
    ops: str | Iterable[str] | None = None,
    from_start: bool = False,
) -> int:
    """Writes the requests that a replay makes of a trace as libCacheSim's oracleGeneral. Returns the requests."""
    names = None if ops is None else _split(ops)
    return _native.export(_file(trace, "export"), os.fspath(output), reads_only, names, from_start)


def _of_document(document: dict[str, Any]) -> Results:
    """The cases of a results document as rows; figures that only some have are null in the others."""
    names = list(dict.fromkeys(name for case in document["cases"] for name in case["figures"]))
    rows = [
        {"case": case["case"], "configuration": case["configuration"], **{name: case["figures"].get(name) for name in names}}
        for case in document["cases"]
    ]
    return Results(rows, document)


def experiments() -> dict[str, dict[str, str]]:
    """The papers' experiments: title, source and claim by id."""
    return {id: {"title": title, "source": source, "claim": claim} for id, title, source, claim in _native.experiments()}


def reproduce(
    ids: str | Iterable[str] = (),
    *,
    seed: int = 1,
    seeds: int | None = None,
    quick: bool = False,
    threads: int | None = None,
) -> Results:
    """Repeats experiments of the papers, all without a name: figures as rows; verdicts and plots' series in ``.document``."""
    return _of_document(json.loads(_native.reproduce_papers(_split(ids), seed, seeds, quick, threads)))


def hybrid(
    trace: _Path,
    policies: str | Iterable[str] = (),
    sizes: str | Iterable[str] = "10%,20%,40%,70%",
    *,
    dram_percent: float = 5.0,
    foreground: str | Iterable[str] = (),
) -> Results:
    """Runs a trace file through buffer caches in a memory of DRAM and PCM."""
    names = [] if isinstance(policies, str) and not policies else _split(policies)
    file = _file(trace, "hybrid")
    return _of_document(json.loads(_native.hybrid(file, names, _split(sizes), dram_percent, _split(foreground))))


def ecache(traces: str | Iterable[str], *, launches: int = 400, seed: int = 1, width: int = 8) -> Results:
    """Replays what a phone asks of its eCache, files or workloads (L, N, H, LM, NM, HM), under every way of choosing a device's region."""
    return _of_document(json.loads(_native.ecache(_each(traces), launches, seed, width)))
