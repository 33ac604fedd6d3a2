# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Policies written in Python: for ideas, not for speed."""

from __future__ import annotations

from typing import Any, Callable

from ._native import Error, Requests


class Policy:
    """A cache that knows what fits; a subclass says what goes.

    Made anew for each size: ``capacity`` counts objects or bytes, as the size does. ``key`` is the object's number in the trace, from 0
    in the order of first requests; ``size`` is 1 where the capacity counts objects.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used = 0
        self.sizes: dict[int, int] = {}

    def on_hit(self, key: int) -> None:
        """``key`` was asked for, and is in the cache."""

    def on_miss(self, key: int, size: int) -> None:
        """``key`` was asked for, and has just come in."""

    def evict(self) -> int:
        """The key that goes; it is one that came in and has not gone."""
        raise NotImplementedError

    def access(self, key: int, size: int) -> bool:
        """Serves a request, and says whether it was a hit. What is larger than the cache is not kept."""
        if key in self.sizes:
            self.on_hit(key)
            return True
        if size > self.capacity:
            return False
        while self.used + size > self.capacity:
            victim = self.evict()
            gone = self.sizes.pop(victim, None)
            if gone is None:
                raise Error(f"policy {type(self).__name__}: evict() named {victim!r}, which is not in the cache; return a key that is")
            self.used -= gone
        self.sizes[key] = size
        self.used += size
        self.on_miss(key, size)
        return False


def run(requests: Requests, make: Callable[[int], Any], size: str) -> dict[str, Any]:
    """Replays a trace under a policy written in Python. The row is as the lab's."""
    capacity, by_bytes, size = requests.resolve(size)
    cache = make(capacity)
    access = getattr(cache, "access", None)
    name = getattr(make, "__name__", type(cache).__name__)
    if not callable(access):
        raise Error(f"policy {name}: has no access(key, size); derive it from fovea.Policy, or write one")
    hits = weight = hit_weight = at = 0
    while at < len(requests):
        ids, sizes = requests.chunk(at)
        at += len(ids)
        if not by_bytes:
            sizes = [1] * len(ids)
        weight += sum(sizes)
        for key, bytes_ in zip(ids, sizes):
            if access(key, bytes_):
                hits += 1
                hit_weight += bytes_
    objects, footprint_bytes = requests.footprint
    return {
        "trace": requests.name,
        "policy": name,
        "size": size,
        "capacity": capacity,
        "by_bytes": by_bytes,
        "footprint_objects": objects,
        "footprint_bytes": footprint_bytes,
        "requests": len(requests),
        "hits": hits,
        "request_weight": weight,
        "hit_weight": hit_weight,
    }
