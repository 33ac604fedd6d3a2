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


def run(requests: Requests, make: Callable[[int], Any], size: str, counting: dict[str, Any]) -> dict[str, Any]:
    """Replays a trace under a policy written in Python. The row is as the lab's."""
    capacity, by_bytes, size = requests.resolve(size)
    cache = make(capacity)
    access = getattr(cache, "access", None)
    name = getattr(make, "__name__", type(cache).__name__)
    if not callable(access):
        raise Error(f"policy {name}: has no access(key, size); derive it from fovea.Policy, or write one")
    warm_up, interval = requests.warm_up(counting), counting["interval"]
    pieces: list[dict[str, int]] = []
    at = 0
    while at < len(requests):
        # Up to the next request that begins a piece.
        begins = warm_up if at < warm_up else at - (at - warm_up) % interval + interval if interval else len(requests)
        ids, sizes = requests.chunk(at, begins - at)
        if not by_bytes:
            sizes = [1] * len(ids)
        hits = [bytes_ for key, bytes_ in zip(ids, sizes) if access(key, bytes_)]
        if at == warm_up or (interval and at > warm_up and (at - warm_up) % interval == 0):
            pieces.append({"first_request": at, "requests": 0, "hits": 0, "request_weight": 0, "hit_weight": 0})
        if at >= warm_up:
            for figure, more in (("requests", len(ids)), ("hits", len(hits)), ("request_weight", sum(sizes)), ("hit_weight", sum(hits))):
                pieces[-1][figure] += more
        at += len(ids)
    objects, footprint_bytes = requests.footprint
    return {
        "trace": requests.name,
        "policy": name,
        "size": size,
        "capacity": capacity,
        "by_bytes": by_bytes,
        "footprint_objects": objects,
        "footprint_bytes": footprint_bytes,
        **{name: sum(piece[name] for piece in pieces) for name in ("requests", "hits", "request_weight", "hit_weight")},
        "warm_up_requests": warm_up,
        "intervals": pieces if interval else [],
    }
