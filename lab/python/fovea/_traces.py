# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What a trace may be: a file, a URL, a table, arrays."""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping

from . import _remote
from ._native import Error, Trace

_UNITS = ("s", "ms", "us", "ns")


def foreign(
    format: str | None = None,
    csv: str | Mapping[str, Any] | None = None,
    order: str = "reject",
    skip_bad: bool = False,
    whole_requests: bool = False,
    apps: Mapping[str, str] | Iterable[str] = (),
    blkparse_action: str | None = None,
) -> dict[str, Any]:
    """How a foreign trace is read, for the library."""
    if isinstance(csv, Mapping):
        csv = ",".join(f"{key.replace('_', '-')}={'yes' if value is True else 'no' if value is False else value}" for key, value in csv.items())
    rules = [f"{name}={pattern}" for name, pattern in apps.items()] if isinstance(apps, Mapping) else [str(rule) for rule in apps]
    return {
        "format": format,
        "csv": csv,
        "order": order,
        "skip_bad": skip_bad,
        "whole_requests": whole_requests,
        "apps": rules,
        "blkparse_action": blkparse_action,
    }


def _column(name: str, values: Any) -> tuple[Any, str | None]:
    """A column as the library takes it, a buffer of numbers or a list, and the unit of its times."""
    dtype = getattr(values, "dtype", None)
    if dtype is None or not hasattr(values, "tolist"):
        return list(values), None
    if getattr(values, "ndim", 1) != 1:
        raise Error(f"column {name}: has {values.ndim} dimensions; give one value a request")
    kind = getattr(dtype, "kind", "O")
    if kind == "M":
        import numpy

        unit, step = numpy.datetime_data(dtype)
        if unit not in _UNITS or step != 1:
            return values.astype("datetime64[ns]").view("int64"), "ns"
        return values.view("int64"), unit
    if kind in "iuf" and dtype.isnative and getattr(getattr(values, "flags", None), "c_contiguous", False):
        return values, None
    return values.tolist(), None


def trace(
    source: Any, *, columns: Mapping[str, str | None] | None = None, time_unit: str | None = None, **options: Any
) -> Trace:
    """A trace of a file, a URL, a table or arrays.

    A file's ``options`` are those of import_trace. A table is whatever speaks the Arrow C stream interface, a mapping of names to columns,
    or one array or list of ids. ``columns`` tells which column is what (``{"object": "key", "size_bytes": "bytes", "time_ns": "ts"}``, None for
    none); ``time_unit`` is the unit of times that do not say it: ``s``, ``ms``, ``us``, ``ns``.
    """
    if isinstance(source, (str, os.PathLike)):
        if columns is not None or time_unit is not None:
            raise Error("columns and time_unit are of tables in memory; of a file say csv={'id': 'key', 'time-unit': 'ms'}")
        return Trace.open(_remote.local(os.fspath(source)), **options)
    if options:
        raise Error(f"{', '.join(options)}: said of files only; a table in memory has columns and time_unit")
    if isinstance(source, Trace):
        return source
    wanted = None if columns is None else dict(columns)
    if hasattr(source, "__arrow_c_stream__"):
        return Trace.from_arrow(source, wanted, time_unit)
    if isinstance(source, Mapping):
        named = dict(source)
    elif isinstance(source, (list, tuple)) or hasattr(source, "dtype"):
        named = {"object": source}
    else:
        # Says what it is not.
        return Trace.from_arrow(source, wanted, time_unit)
    made = {}
    for name, values in named.items():
        made[str(name)], unit = _column(str(name), values)
        time_unit = time_unit or unit
    return Trace.from_columns(made, wanted, time_unit)
