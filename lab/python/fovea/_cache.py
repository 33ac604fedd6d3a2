# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""One cache, asked request by request, under a policy of the lab's."""

from __future__ import annotations

from typing import Callable, Hashable

from ._native import Error, Steps


class Cache:
    """A cache that serves one request at a time: ``cache.get(key)`` says whether it was a hit.

    ``policy`` is a name as on the command line (``"s3-fifo:small=0.2"``), but none that needs the future. ``capacity`` counts objects
    (1000) or bytes (``"64MiB"``). ``admit(key, size)`` is asked before an object that the cache does not hold comes in; where it says
    false, the policy hears nothing of that request. ``on_hit(key)``, ``on_miss(key)`` and ``on_evict(key)`` are told of each. With ``on_evict``
    a miss takes time in proportion to what the cache holds. Each request is a call in Python: the fast way is fovea.replay.
    """

    def __init__(
        self,
        policy: str,
        capacity: int | str,
        *,
        admit: Callable[[Hashable, int], bool] | None = None,
        on_hit: Callable[[Hashable], object] | None = None,
        on_miss: Callable[[Hashable], object] | None = None,
        on_evict: Callable[[Hashable], object] | None = None,
    ) -> None:
        if isinstance(capacity, bool) or not isinstance(capacity, (int, str)):
            raise Error(f"capacity {capacity!r}: neither a number of objects nor a text; take 1000 or '64MiB'")
        self._steps = Steps(policy, str(capacity), on_evict is not None)
        self._admit, self._on_hit, self._on_miss, self._on_evict = admit, on_hit, on_miss, on_evict
        self._numbers: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self.requests = 0
        self.hits = 0

    def get(self, key: Hashable, size: int = 1, time: float = 0.0) -> bool:
        """Serves a request, and says whether it was a hit. ``time`` is in seconds, for policies with ``ttl-s``."""
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise Error(f"size {size!r}: not a whole number of bytes; take 0 or more")
        if not 0 <= time < 1e9:
            raise Error(f"time {time!r}: not within 0 and 1e9 seconds; count from the first request")
        self.requests += 1
        number = self._numbers.get(key)
        if self._admit is not None and (number is None or not self._steps.contains(number)) and not self._admit(key, size):
            if self._on_miss is not None:
                self._on_miss(key)
            return False
        if number is None:
            number = self._numbers[key] = len(self._keys)
            self._keys.append(key)
        hit, _, evicted = self._steps.get(number, size, round(time * 1e9))
        self.hits += hit
        if self._on_evict is not None:
            for gone in evicted:
                self._on_evict(self._keys[gone])
        told = self._on_hit if hit else self._on_miss
        if told is not None:
            told(key)
        return hit

    def __contains__(self, key: Hashable) -> bool:
        number = self._numbers.get(key)
        return number is not None and self._steps.contains(number)

    @property
    def capacity(self) -> int:
        """Objects or bytes."""
        return self._steps.capacity

    @property
    def used(self) -> int:
        """Objects or bytes in it."""
        return self._steps.used

    @property
    def policy(self) -> str:
        """The policy, as results name it."""
        return self._steps.policy

    @property
    def misses(self) -> int:
        """Requests that were no hits."""
        return self.requests - self.hits

    def __repr__(self) -> str:
        return f"<fovea.Cache: {self.policy}, {self.used} of {self.capacity}, {self.hits} hits of {self.requests} requests>"
