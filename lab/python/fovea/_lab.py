# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Replay, miss-ratio curves and sweeps."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Callable, Iterable

from . import _native, _ray, _remote
from ._native import Error, Trace
from ._policy import run
from ._results import Results
from ._traces import trace as trace_of


def _each(value: Any) -> list[Any]:
    """What was named, one or several."""
    return [value] if isinstance(value, (str, int, float, os.PathLike)) or callable(value) else list(value)


def _texts(values: Any) -> list[str]:
    return [text for value in _each(values) for text in str(value).split(",")]


def _sizes(sizes: Any) -> list[str]:
    each = _each(sizes)
    for size in each:
        if isinstance(size, bool) or not isinstance(size, (int, str)):
            share = f", as '{100 * size:g}%'" if isinstance(size, float) and 0 < size <= 1 else ""
            raise Error(f"size {size!r}: neither a number of objects nor a text; write 1000, '64MiB', or a share of the objects{share or ', 10%'}")
    return _texts(each)


def _source(trace: Any) -> Any:
    # A file is not read into memory first.
    return _remote.local(os.fspath(trace)) if isinstance(trace, (str, os.PathLike)) else trace_of(trace)


def _shape(reads_only: bool, ops: Iterable[str] | None, repeat: int, keep: bool) -> dict[str, Any]:
    if not isinstance(repeat, int) or not 0 < repeat < 1 << 64:
        raise Error(f"repeat {repeat!r}: a trace is replayed a whole number of times; take at least 1")
    return {"reads_only": reads_only, "ops": None if ops is None else _texts(ops), "repeat": repeat, "keep": keep}


def _counting(warm_up: int | str, interval: int | None) -> dict[str, Any]:
    if isinstance(warm_up, bool) or not isinstance(warm_up, (int, str)):
        raise Error(f"warm_up {warm_up!r}: makes no sense; take a number of requests, 10000, or a share of them, '10%'")
    if interval is not None and (isinstance(interval, bool) or not isinstance(interval, int) or not 0 <= interval < 1 << 64):
        raise Error(f"interval {interval!r}: counts whole requests; take 1 or more, or None")
    return {"warm_up": str(warm_up), "interval": interval}


def _seeds(seeds: int) -> int:
    if isinstance(seeds, bool) or not isinstance(seeds, int) or not 1 <= seeds <= 1000:
        raise Error(f"seeds {seeds!r}: a policy that draws is replayed under 1 to 1000 seeds; take 5, or 1 for the one that is named")
    return seeds


def _threads(threads: int | None) -> int | None:
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise Error(f"threads {threads!r}: no thread to work; take at least 1, or None for all cores")
    return threads


def _named(policies: Any, what: str) -> list[str]:
    for policy in _each(policies):
        if not isinstance(policy, str):
            raise Error(f"policy {getattr(policy, '__name__', policy)!r}: {what} takes the lab's policies; take replay for one in Python")
    return _texts(policies)


def _finished(row: dict[str, Any]) -> dict[str, Any]:
    misses = row["requests"] - row["hits"]
    return {**row, "misses": misses, "miss_ratio": misses / max(row["requests"], 1)}


def _results(cells: list[dict[str, Any]], document: dict[str, Any], resumed: int = 0) -> Results:
    """Cells as rows, and their intervals as rows of a table of their own."""
    rows, intervals = [], []
    for cell in cells:
        pieces = cell.pop("intervals", [])
        intervals += [_finished({**{name: cell[name] for name in ("trace", "policy", "size")}, **piece}) for piece in pieces]
        rows.append(_finished({**cell, "warm_up_requests": cell.get("warm_up_requests", 0)}))
    return Results(rows, document, resumed, Results(intervals, {}) if intervals else None)


def replay(
    trace: Any,
    policies: Any,
    sizes: Any,
    *,
    warm_up: int | str = 0,
    interval: int | None = None,
    seeds: int = 5,
    reads_only: bool = False,
    ops: Iterable[str] | None = None,
    repeat: int = 1,
    keep: bool = True,
) -> Results:
    """Replays a trace under every policy at every size.

    A trace is a path, a URL that fsspec reads, a Trace, a table (whatever speaks the Arrow C stream interface, or a mapping of names to
    columns), or an array of ids; fovea.trace says more of one than its columns' names do. Policies are names as on the command line (``"lru"``,
    ``"s3-fifo:small=0.2"``, ``"external:./program"``, ``"all"``), or classes as fovea.Policy; the document holds what the lab's own found. Sizes are ``1000`` objects,
    ``"64MiB"``, ``"10%"``, ``"10%B"``. ``warm_up`` requests (``10000``, ``"10%"``) fill the cache and are not counted; with ``interval``, so many
    requests at a time are counted too, in ``.intervals``. A policy that draws has a row for each of so many ``seeds``, beginning with the one
    that is named; ``.over_seeds`` takes them together.
    """
    seeds = _seeds(seeds)
    counting, texts = _counting(warm_up, interval), _sizes(sizes)
    source, shape = _source(trace), _shape(reads_only, ops, repeat, keep)
    named, written = [], []
    for policy in _each(policies):
        if isinstance(policy, str):
            named += _texts(policy)
        elif callable(policy):
            written.append(policy)
        else:
            raise Error(f"policy {policy!r}: neither a name nor a class; write 'lru', or derive a class from fovea.Policy")
    rows, document, over = [], {}, None
    if named or not written:
        cells, text, together = _native.replay(source, named, texts, shape, counting, seeds)
        rows, document, over = json.loads(cells), json.loads(text), Results(json.loads(together), {})
    if written:
        requests = _native.Requests(source, shape)
        rows += [run(requests, policy, size, counting) for size in texts for policy in written]
    found = _results(rows, document)
    found.over_seeds = over
    return found


def mrc(
    trace: Any,
    policies: Any = "lru",
    sizes: Any = (),
    *,
    rate: float = 0.01,
    exact: bool = False,
    shards: bool = False,
    threads: int | None = None,
    reads_only: bool = False,
    ops: Iterable[str] | None = None,
    repeat: int = 1,
    keep: bool = True,
) -> Results:
    """Miss-ratio curves: ``error`` is twice the standard error of ``miss_ratio``, 0 where nothing is estimated."""
    if exact and shards:
        raise Error("exact and shards: one estimates nothing, the other estimates; take one")
    shape = _shape(reads_only, ops, repeat, keep)
    names = _named(policies, "mrc")
    rows, document = _native.mrc(_source(trace), names, _sizes(sizes), shape, rate, exact, shards, _threads(threads))
    return Results(json.loads(rows), json.loads(document))


def sweep(
    traces: Any,
    policies: Any,
    sizes: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    engine: str = "local",
    retries: int = 3,
    warm_up: int | str = 0,
    interval: int | None = None,
    reads_only: bool = False,
    ops: Iterable[str] | None = None,
    repeat: int = 1,
    keep: bool = True,
) -> Results:
    """Every policy at every size on every trace file, over all cores.

    With ``output``, results go to OUTPUT.json and OUTPUT.parquet, and an interrupted sweep of the same output goes on where it was.
    With ``engine="ray"`` cells are tasks of the Ray cluster that is connected to, whose nodes see the traces under the same paths or URLs;
    a cell whose worker is lost is given to another, up to ``retries`` times. ``warm_up`` and ``interval`` are replay's.
    """
    named = _each(traces)
    if not all(isinstance(trace, (str, os.PathLike)) for trace in named):
        raise Error("sweep: results go by the traces' files; write a trace in memory with Trace.write first, and name that file")
    paths = [str(os.fspath(trace)) for trace in named]
    shape, counting = _shape(reads_only, ops, repeat, keep), _counting(warm_up, interval)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise Error(f"retries {retries!r}: a lost cell is tried again a whole number of times; take 0 or more")
    with tempfile.TemporaryDirectory() as folder:
        where = os.path.join(folder, "sweep") if output is None else os.fspath(output)
        names, had = _named(policies, "sweep"), None
        if engine == "ray":
            had = _ray.compute(paths, names, _sizes(sizes), shape, counting, where, retries)
        elif engine != "local":
            raise Error(f"engine {engine!r}: not known; take local or ray")
        files = [_remote.local(path) for path in paths]
        cells, document, resumed = _native.sweep(files, names, _sizes(sizes), shape, counting, where, _threads(threads))
    return _results(json.loads(cells), json.loads(document), resumed if had is None else had)


def policies() -> dict[str, dict[str, Any]]:
    """The lab's policies: where each was published, and its parameters' defaults."""
    known = _native.policies()
    return {name: {"source": source, "parameters": {p[0]: p[1] for p in parameters}} for name, source, parameters in known}
