# SPDX-License-Identifier: GPL-2.0-only OR MIT
import pytest

import fovea


def requests():
    word = 7
    for at in range(6000):
        word = (word * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        yield f"key-{(word >> 33) % (1 + (word >> 20) % 400)}", 1 + (word >> 40) % 900


@pytest.mark.parametrize("policy", [name for name in fovea.policies() if name not in ("belady", "belady-size")])
@pytest.mark.parametrize("capacity", [50, "20000B"])
def test_step_by_step_is_as_a_replay(policy, capacity):
    keys, sizes = zip(*requests())
    # An object keeps its first size.
    first = {}
    sizes = [first.setdefault(key, size) for key, size in zip(keys, sizes)]
    whole = fovea.replay({"id": list(keys), "size_bytes": sizes}, policy, capacity).rows[0]
    held, evicted = set(), []
    cache = fovea.Cache(policy, capacity, on_evict=evicted.append)
    for key, size in zip(keys, sizes):
        evicted.clear()
        was_there = key in held
        assert cache.get(key, size) == was_there
        held -= set(evicted)
        if key in cache:
            held.add(key)
        assert cache.used <= cache.capacity
    assert (cache.requests, cache.misses) == (whole["requests"], whole["misses"])
    assert all(key in cache for key in held)


def test_hooks_hear_of_every_request():
    hits, misses, evicted = [], [], []
    cache = fovea.Cache("fifo", 2, on_hit=hits.append, on_miss=misses.append, on_evict=evicted.append)
    assert [cache.get(key) for key in "abacab"] == [False, False, True, False, False, False]
    assert (hits, misses, evicted) == (["a"], ["a", "b", "c", "a", "b"], ["a", "b", "c"])


def test_what_is_not_admitted_is_not_kept():
    asked = []

    def admit(key, size):
        asked.append((key, size))
        return size < 10

    cache = fovea.Cache("lru", "100B", admit=admit)
    assert [cache.get("small", 9), cache.get("large", 10), cache.get("small", 9), cache.get("large", 10)] == [False, False, True, False]
    # Of what is held nobody is asked.
    assert asked == [("small", 9), ("large", 10), ("large", 10)]
    assert cache.used == 9


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("belady", 10), "needs the future"),
        (("lru", "10%"), "share of no trace"),
        (("lru", 0.1), "neither a number"),
        (("lruu", 10), "not known"),
    ],
)
def test_mistakes_are_answered_in_one_line(arguments, what):
    with pytest.raises(fovea.Error, match=what) as error:
        fovea.Cache(*arguments)
    assert "\n" not in str(error.value)
    with pytest.raises(fovea.Error):
        fovea.Cache("lru", 10).get("a", -1)
