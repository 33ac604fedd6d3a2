# SPDX-License-Identifier: GPL-2.0-only OR MIT
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def git() -> str:
    """A recording of git, as shipped."""
    return str(ROOT / "lab/samples/git.parquet")


@pytest.fixture
def sqlite() -> str:
    return str(ROOT / "lab/samples/sqlite.parquet")
