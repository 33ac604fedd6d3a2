# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Warm-up and intervals: those of the command line, of a policy written in Python, and of a sweep."""

import json
import os
import statistics
import subprocess

import pytest

import fovea
from test_lab import Lru

SUMS = ("requests", "hits", "misses", "request_weight", "hit_weight")
COUNTED = [(0, None), (100, None), ("10%", 70), (0, 1), ("0%", 10**9), (333, 64)]


@pytest.mark.parametrize(("warm_up", "interval"), COUNTED)
def test_a_policy_in_python_is_counted_as_the_lab_s(git, warm_up, interval):
    found = fovea.replay(git, ["lru", Lru], "5%,1MiB", warm_up=warm_up, interval=interval)

    def of(rows, policy):
        return [{**row, "policy": ""} for row in rows if row["policy"] == policy]

    assert of(found, "lru") == of(found, "Lru") and len(found) == 4
    if interval is None:
        assert found.intervals is None
        return
    assert of(found.intervals, "lru") == of(found.intervals, "Lru")
    for row in found:
        own = [i for i in found.intervals if (i["policy"], i["size"]) == (row["policy"], row["size"])]
        assert own[0]["first_request"] == row["warm_up_requests"]
        assert {name: sum(i[name] for i in own) for name in SUMS} == {name: row[name] for name in SUMS}
        assert all(i["requests"] == interval for i in own[:-1])
    assert found.intervals.to_pandas()["miss_ratio"].between(0, 1).all()


def test_a_sweep_counts_as_replay_and_says_so(git, sqlite, tmp_path):
    grid = {"policies": "lru,arc", "sizes": "1%,10%", "warm_up": "10%", "interval": 50}
    swept = fovea.sweep([git, sqlite], output=tmp_path / "swept", **grid)
    replayed = [fovea.replay(trace, **grid) for trace in (git, sqlite)]
    assert swept.rows == [row for found in replayed for row in found]
    assert swept.intervals.rows == [row for found in replayed for row in found.intervals]
    assert swept.document["options"]["warm_up"] == replayed[0].document["options"]["warm_up"] == "10%"
    assert len(replayed[0].document["intervals"]) == len(replayed[0].intervals)


@pytest.mark.skipif("FOVEA_CLI" not in os.environ, reason="no fovea of these sources is built beside; cargo build -p fovea")
@pytest.mark.parametrize(("warm_up", "interval"), COUNTED)
def test_replay_is_the_command_line_s(git, warm_up, interval):
    policies = "lru,s3-fifo:small=0.2,lecar:ttl-s=0.01,belady"
    words = ["lab", "replay", git, "--policies", policies, "--sizes", "10%,1MiB", "--seeds", "1", "--warm-up"]
    words += [str(warm_up), "--json", "-"]
    words += [] if interval is None else ["--interval", str(interval)]
    told = json.loads(subprocess.run([os.environ["FOVEA_CLI"], *words], check=True, capture_output=True).stdout)
    ours = fovea.replay(git, policies, "10%,1MiB", warm_up=warm_up, interval=interval, seeds=1).document
    # Who made it differs, what was found does not.
    for name in ("scenario", "inputs", "options", "cases", "verdicts"):
        assert ours[name] == told[name], name
    assert ours.get("intervals") == told.get("intervals")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"warm_up": "100%"}, "take a number of requests"),
        ({"warm_up": -1}, "take a number of requests"),
        ({"warm_up": 1.5}, "take a number of requests"),
        ({"warm_up": True}, "take a number of requests"),
        ({"warm_up": 10**12}, "some must be left to count"),
        ({"interval": 0}, "interval 0: no request in it"),
        ({"interval": -1}, "interval -1: counts whole requests"),
        ({"interval": 2.5}, "interval 2.5: counts whole requests"),
        ({"interval": 1 << 64}, "counts whole requests"),
    ],
)
@pytest.mark.parametrize("policy", ["lru", Lru])
def test_nonsense_is_answered_in_one_line(git, arguments, said, policy):
    with pytest.raises(fovea.Error) as error:
        fovea.replay(git, policy, "10", **arguments)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_policy_that_draws_has_several_seeds_and_an_interval(git):
    found = fovea.replay(git, ["lru", "random", Lru], "5%")
    assert [row["policy"] for row in found] == ["lru", "random", *(f"random:seed={seed}" for seed in (2, 3, 4, 5)), "Lru"]
    drawn = [row["misses"] for row in found if row["policy"].startswith("random")]
    assert len(set(drawn)) > 1
    lru, random = found.over_seeds
    assert (lru["policy"], lru["seeds"], lru["half_interval"], lru["mean_misses"]) == ("lru", 1, 0.0, found.rows[0]["misses"])
    assert (random["policy"], random["seeds"], random["mean_misses"]) == ("random", 5, pytest.approx(statistics.mean(drawn)))
    # Student's t of four degrees of freedom.
    assert random["half_interval"] == pytest.approx(2.776 * statistics.stdev(drawn) / 5**0.5, rel=1e-3)
    assert (random["least_misses"], random["most_misses"]) == (min(drawn), max(drawn))
    assert random["miss_ratio"] == pytest.approx(random["mean_misses"] / random["requests"])
    assert found.over_seeds.to_pandas()["seeds"].tolist() == [1, 5]
    one = fovea.replay(git, "random:seed=3", "5%", seeds=1)
    assert [row["misses"] for row in one] == [drawn[2]] and one.over_seeds.rows[0]["seeds"] == 1
    assert fovea.replay(git, Lru, "5%").over_seeds is None
    for seeds in (0, True, 1.5, 5000):
        with pytest.raises(fovea.Error, match="seeds .*: a policy that draws"):
            fovea.replay(git, "random", "5%", seeds=seeds)


@pytest.mark.skipif("FOVEA_CLI" not in os.environ, reason="no fovea of these sources is built beside; cargo build -p fovea")
def test_seeds_are_the_command_line_s(git):
    words = ["lab", "replay", git, "--policies", "lru,random,hyperbolic:seed=4", "--sizes", "10%", "--seeds", "3", "--json", "-"]
    told = json.loads(subprocess.run([os.environ["FOVEA_CLI"], *words], check=True, capture_output=True).stdout)
    assert fovea.replay(git, "lru,random,hyperbolic:seed=4", "10%", seeds=3).document["cases"] == told["cases"]
