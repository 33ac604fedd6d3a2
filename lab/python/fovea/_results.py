# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Results as tables."""

from __future__ import annotations

from typing import Any, Iterator

from ._native import Error

_TYPES = {bool: "bool_", int: "uint64", float: "float64", str: "string"}


class Results:
    """Rows of results, one per policy and size, and the lab's results document."""

    def __init__(
        self,
        rows: list[dict[str, Any]],
        document: dict[str, Any],
        resumed: int = 0,
        intervals: Results | None = None,
        over_seeds: Results | None = None,
    ) -> None:
        self.rows = rows
        self.document = document
        # Cells that an interrupted sweep had finished.
        self.resumed = resumed
        # The same by interval, if that was asked for: rows that sum up to those of their policy and size.
        self.intervals = intervals
        # A replay's rows with a policy's seeds taken together: mean of the misses, and half of its 95 % confidence interval.
        self.over_seeds = over_seeds

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        columns = list(self.rows[0]) if self.rows else []
        return f"<fovea.Results: {len(self)} rows of {', '.join(columns)}>"

    def _repr_html_(self) -> str | None:
        try:
            return self.to_pandas()._repr_html_()
        except Error:
            return None

    def to_arrow(self) -> Any:
        """A pyarrow.Table."""
        try:
            import pyarrow
        except ImportError:
            raise Error("pyarrow: not installed; pip install 'fovea-lab[arrow]', or take .rows") from None
        first = self.rows[0] if self.rows else {}
        schema = pyarrow.schema([(name, getattr(pyarrow, _TYPES[type(value)])()) for name, value in first.items()])
        return pyarrow.Table.from_pylist(self.rows, schema=schema)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame."""
        try:
            import pandas
        except ImportError:
            raise Error("pandas: not installed; pip install 'fovea-lab[pandas]', or take .rows") from None
        return pandas.DataFrame(self.rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)
