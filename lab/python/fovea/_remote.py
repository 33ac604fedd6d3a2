# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Traces by URL: fetched once, into a cache that goes by content.

What is fetched lies under ``traces/SHA-256/NAME`` of the cache, so that equal files at several places are kept once, and results have the
file's name. What a place held at last stands under ``places``, with the file system's word on that version of it (size and time, or an ETag).
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Iterator

from ._native import Error

_CHUNK = 1 << 20


def is_url(trace: Any) -> bool:
    """Whether it names a place elsewhere, and not a file."""
    return isinstance(trace, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*(://|::)", trace) is not None


def local(trace: str) -> str:
    """The path of a trace's file; of one elsewhere, the path of its copy."""
    if not is_url(trace):
        return trace
    shown = re.sub(r"//[^/@]*@", "//", trace)
    try:
        import fsspec
    except ImportError:
        raise Error(f"{shown}: fsspec is not installed; pip install 'fovea-lab[remote]', or give a file's path") from None
    try:
        system, path = fsspec.core.url_to_fs(trace)
        if "file" in (system.protocol if isinstance(system.protocol, tuple) else (system.protocol,)):
            return str(path)
        # As it is now, and not as some listing had it.
        system.invalidate_cache(path)
        version = system.ukey(path)
    except Exception as error:
        raise _failed(shown, error) from None
    name = path.rstrip("/").rsplit("/", 1)[-1]
    place = _cache() / "places" / hashlib.sha256(f"{trace}\n{version}".encode()).hexdigest()
    try:
        copy = _cache() / "traces" / place.read_text() / name
        if _content(copy) == copy.parent.name:
            return str(copy)
    except OSError:
        pass
    return _fetch(system, path, shown, name, place)


def _fetch(system: Any, path: str, shown: str, name: str, place: Path) -> str:
    """Copies a file; it and the note of its place appear whole."""
    part = None
    try:
        (_cache() / "traces").mkdir(parents=True, exist_ok=True)
        place.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=_cache(), delete=False) as file:
            part, digest = file.name, hashlib.sha256()
            for chunk in _chunks(system, path, shown):
                digest.update(chunk)
                file.write(chunk)
        copy = _cache() / "traces" / digest.hexdigest() / name
        copy.parent.mkdir(exist_ok=True)
        os.replace(part, copy)
        with tempfile.NamedTemporaryFile("w", dir=_cache(), delete=False) as file:
            part = file.name
            file.write(digest.hexdigest())
        os.replace(part, place)
        part = None
    except OSError as error:
        raise Error(f"{_cache()}: {error.strerror or error}; make room, or name another folder with XDG_CACHE_HOME") from None
    finally:
        if part is not None and os.path.exists(part):
            os.unlink(part)
    return str(copy)


def _chunks(system: Any, path: str, shown: str) -> Iterator[bytes]:
    try:
        with system.open(path, "rb") as source:
            while chunk := source.read(_CHUNK):
                yield chunk
    except Exception as error:
        raise _failed(shown, error) from None


def _content(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fovea"


def _failed(shown: str, error: Exception) -> Error:
    # The word of a missing file is its path only.
    missing = isinstance(error, FileNotFoundError)
    said = "no such file" if missing else (str(error).splitlines() or [type(error).__name__])[0]
    return Error(f"{shown}: {said}; check the address, that its file system is installed, and that you may read it")
