# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Cells of a sweep as tasks of a Ray cluster.

Cells are kept in the journal of a local sweep as they come, and that sweep, which then finds all of them, writes the results: they are the
same to the byte, and either engine goes on where the other was interrupted.
"""

from __future__ import annotations

import collections
import fcntl
import json
import os
from typing import Any

from . import _native, _remote
from ._native import Error

# Tasks under way for each CPU: one that runs, and one that waits.
_WINDOW = 2

_keys: dict[Any, str] = {}


def _cell(trace: str, key: str, policy: str, size: str, shape: dict[str, Any], counting: dict[str, Any]) -> str:
    """A cell, computed on a worker, where the trace and this program must be those of the driver."""
    path = _remote.local(trace)
    state = os.stat(path) if os.path.exists(path) else None
    known = (path, state and (state.st_ino, state.st_size, state.st_mtime_ns), json.dumps([shape, counting]))
    if known not in _keys:
        _keys[known] = _native.plan([path], [policy], [size], shape, counting)[0][0]
    if _keys[known] != key:
        raise Error(f"{trace}: another content, or another version of fovea, on a worker; give all nodes the same files and the same wheel")
    # A cell is of one seed: that of its name.
    cells, _, _ = _native.replay(path, [policy], [size], shape, counting, 1)
    return json.dumps(json.loads(cells)[0])


def compute(
    traces: list[str],
    policies: list[str],
    sizes: list[str],
    shape: dict[str, Any],
    counting: dict[str, Any],
    output: str,
    retries: int,
) -> int:
    """Has the cluster compute what the journal lacks, and gives the number of cells that it had."""
    try:
        import ray
    except ImportError:
        raise Error("ray: not installed; pip install ray, or leave engine out") from None
    traces = [trace if _remote.is_url(trace) else os.path.abspath(trace) for trace in traces]
    keys, grid = _native.plan([_remote.local(trace) for trace in traces], policies, sizes, shape, counting)
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    # Tried again here and not by Ray, which would not say whose worker was lost.
    task = ray.remote(num_cpus=1, max_retries=0)(_cell)
    try:
        journal = open(output + ".partial.jsonl", "a+b")
    except OSError as error:
        raise Error(f"{output}.partial.jsonl: {error.strerror}; check the name and its permissions") from None
    with journal:
        try:
            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Error(f"{journal.name}: another sweep writes there; wait for its end, or name another output") from None
        had = _had(journal)
        wanted = [(trace, key, *cell) for trace, key in zip(traces, keys) for cell in grid if (key, *cell) not in had]
        waiting: dict[Any, tuple[str, str, str, str]] = {}
        lost: collections.Counter[tuple[str, str, str, str]] = collections.Counter()
        try:
            while wanted or waiting:
                window = max(1, int(_WINDOW * ray.cluster_resources().get("CPU", 1)))
                while wanted and len(waiting) < window:
                    cell = wanted.pop(0)
                    waiting[task.remote(*cell, shape, counting)] = cell
                for ready in ray.wait(list(waiting), timeout=1.0)[0]:
                    cell = waiting.pop(ready)
                    try:
                        found = json.loads(ray.get(ready))
                    except ray.exceptions.RayTaskError:
                        raise
                    except ray.exceptions.RayError as error:
                        # A worker that is lost is seldom the cell's doing; of one that takes all its workers down it is.
                        lost[cell] += 1
                        if lost[cell] > retries:
                            raise _given_up(cell, lost[cell], error, journal.name) from None
                        wanted.append(cell)
                        continue
                    line = {"key": cell[1], **found}
                    journal.write(json.dumps(line).encode() + b"\n")
                    journal.flush()
                    os.fsync(journal.fileno())
        except ray.exceptions.RayTaskError as error:
            raise Error(str(error.cause).splitlines()[-1]) from None
        except ray.exceptions.RayError as error:
            kept = f"finished cells are kept in {journal.name}; run the same sweep again"
            raise Error(f"ray: {str(error).splitlines()[0]}; {kept}") from None
        except OSError as error:
            raise Error(f"{journal.name}: {error.strerror}; make room and run the same sweep again") from None
        finally:
            for left in waiting:
                ray.cancel(left, force=True)
    return len(traces) * len(grid) - sum((key, *cell) not in had for key in keys for cell in grid)


def _given_up(cell: tuple[str, str, str, str], times: int, error: Exception, journal: str) -> Error:
    trace, _, policy, size = cell
    why = (str(error).splitlines() or [""])[0].rstrip(".") or type(error).__name__
    kept = f"finished cells are kept in {journal}; see to the workers' memory and run the same sweep again"
    return Error(f"{trace}, {policy} at {size}: its worker was lost {times} times ({why}); {kept}")


def _had(journal: Any) -> set[tuple[str, str, str]]:
    """The cells of a journal, whose last line is dropped if it was cut short."""
    journal.seek(0)
    had, length = set(), 0
    for line in journal:
        try:
            cell = json.loads(line) if line.endswith(b"\n") else None
            had.add((cell["key"], cell["policy"], cell["size"]))
        except (ValueError, TypeError, KeyError):
            break
        length += len(line)
    journal.truncate(length)
    return had
