# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Traces by URL, from file systems that fsspec has in memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fovea

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/fovea"


def put(url, path):
    with fsspec.open(url, "wb") as file:
        file.write(Path(path).read_bytes())
    return url


def copies(cache):
    return sorted(path.relative_to(cache / "traces") for path in cache.glob("traces/*/*") if path.is_file())


def test_a_trace_elsewhere_is_the_trace(git, sqlite, cache, tmp_path):
    urls = [put("memory://traces/git.parquet", git), put("memory://traces/sqlite.parquet", sqlite)]
    here, there = fovea.replay(git, "lru,sieve", "1%,10%"), fovea.replay(urls[0], "lru,sieve", "1%,10%")
    assert (there.rows, there.document) == (here.rows, here.document)
    assert len(copies(cache)) == 1
    swept = fovea.sweep(urls, "lru,sieve", "1%,10%", tmp_path / "there")
    fovea.sweep([git, sqlite], "lru,sieve", "1%,10%", tmp_path / "here")
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
    assert len(swept) == 8 and len(copies(cache)) == 2
    assert fovea.mrc(urls[0], sizes="10%").rows == fovea.mrc(git, sizes="10%").rows


def test_a_file_s_url_is_the_file(git, cache):
    assert fovea.replay(f"file://{git}", "lru", "10%").rows == fovea.replay(git, "lru", "10%").rows
    assert not cache.exists()


def test_what_is_there_already_is_not_fetched_again_and_what_changed_is(git, sqlite, cache, monkeypatch):
    url = put("memory://traces/t.parquet", git)
    first = fovea.replay(url, "lru", "10%").rows
    fetched = []
    system = type(fsspec.filesystem("memory"))
    opened = system._open
    monkeypatch.setattr(system, "_open", lambda self, path, *a, **k: fetched.append(path) or opened(self, path, *a, **k))
    assert fovea.replay(url, "lru", "10%").rows == first and fetched == []
    # A copy that is not what it was is no copy.
    (copy,) = cache.glob("traces/*/t.parquet")
    copy.write_bytes(copy.read_bytes()[:-9])
    assert fovea.replay(url, "lru", "10%").rows == first and len(fetched) == 1
    put(url, sqlite)
    fetched.clear()
    assert fovea.replay(url, "lru", "10%").rows[0]["requests"] == fovea.replay(sqlite, "lru", "10%").rows[0]["requests"]
    assert len(fetched) == 1 and len(copies(cache)) == 2
    # The same content elsewhere takes no room.
    fovea.replay(put("memory://other/t.parquet", sqlite), "lru", "10%")
    assert len(copies(cache)) == 2
    assert not [path for path in cache.iterdir() if path.is_file()], "no part is left"


def test_what_cannot_be_had_is_one_line(git, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("no folder")
    cases = [
        ("memory://none/t.parquet", "memory://none/t.parquet: no such file; check the address"),
        ("nosuch://user:secret@host/t.parquet", "nosuch://host/t.parquet: "),
        (put("memory://traces/t.parquet", git), "name another folder with XDG_CACHE_HOME"),
    ]
    for url, said in cases:
        for call in (lambda: fovea.replay(url, "lru", "10"), lambda: fovea.sweep([url], "lru", "10")):
            with pytest.raises(fovea.Error) as error:
                call()
            assert said in str(error.value) and "\n" not in str(error.value) and "secret" not in str(error.value)


def test_without_fsspec_paths_still_work(git):
    program = (
        "import sys; sys.modules['fsspec'] = None\n"
        "import fovea\n"
        f"assert len(fovea.replay({git!r}, 'lru', '10%')) == 1\n"
        "try: fovea.replay('s3://bucket/t.parquet', 'lru', '10%')\n"
        "except fovea.Error as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=dict(os.environ))
    assert said.stdout == "s3://bucket/t.parquet: fsspec is not installed; pip install 'fovea-lab[remote]', or give a file's path\n"
