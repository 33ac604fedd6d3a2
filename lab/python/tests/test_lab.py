# SPDX-License-Identifier: GPL-2.0-only OR MIT
import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pyarrow
import pyarrow.parquet
import pytest

import fovea


class Lru(fovea.Policy):
    def __init__(self, capacity):
        super().__init__(capacity)
        self.order = collections.OrderedDict()

    def on_hit(self, key):
        self.order.move_to_end(key)

    def on_miss(self, key, size):
        self.order[key] = None

    def evict(self):
        return self.order.popitem(last=False)[0]


def test_a_policy_in_python_misses_as_the_lab_s(git, sqlite):
    for trace in (git, sqlite):
        found = fovea.replay(trace, ["lru", Lru], "1%,10%,50%,256KiB,4MiB")
        lab, ours = ([row for row in found if row["policy"] == name] for name in ("lru", "Lru"))
        assert len(lab) == len(ours) == 5
        assert [{**row, "policy": "lru"} for row in ours] == lab


def test_bad_policies_are_answered(git):
    class Stubborn(Lru):
        def evict(self):
            return -1

    with pytest.raises(fovea.Error, match="policy Stubborn: evict.. named -1, which is not in the cache"):
        fovea.replay(git, Stubborn, "10")
    with pytest.raises(fovea.Error, match=r"has no access\(key, size\)"):
        fovea.replay(git, lambda capacity: None, "10")
    with pytest.raises(fovea.Error, match="mrc takes the lab's policies"):
        fovea.mrc(git, Lru)


def test_sweep_is_replay_and_its_files(git, sqlite, tmp_path):
    found = fovea.sweep([git, sqlite], "lru,sieve", ["1%", "10%"], tmp_path / "swept", threads=2)
    assert [row["misses"] for row in found] == [
        row["misses"] for trace in (git, sqlite) for row in fovea.replay(trace, "lru,sieve", "1%,10%")
    ]
    assert json.loads((tmp_path / "swept.json").read_text()) == found.document
    table = pyarrow.parquet.read_table(tmp_path / "swept.parquet")
    assert table.column("misses").to_pylist() == [row["misses"] for row in found]
    assert os.listdir(tmp_path).count("swept.partial.jsonl") == 0
    assert fovea.sweep(git, "lru", "1%").rows[0]["misses"] == found.rows[0]["misses"]


def test_curves(git):
    exact = fovea.mrc(git, "lru,sieve", "10%,50%", exact=True).to_pandas()
    replayed = fovea.replay(git, "lru,sieve", "10%,50%").to_pandas()
    for policy in ("lru", "sieve"):
        ours, theirs = (t[t["policy"] == policy]["miss_ratio"].tolist() for t in (exact, replayed))
        assert ours == pytest.approx(theirs)
    assert len(fovea.mrc(git)) > 10
    assert fovea.mrc(pyarrow.table(fovea.Trace.open(git)), sizes="10%").rows[0]["miss_ratio"] == exact["miss_ratio"][0]


def test_tables(git):
    found = fovea.replay(git, "lru", "1%,10%")
    assert pyarrow.table(found).equals(found.to_arrow())
    assert found.to_arrow().to_pylist() == found.rows
    assert found.document["scenario"] == "lab replay" and found.document["inputs"][0]["name"] == "git.parquet"
    assert "<table" in found._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lruu", "10"), 'policy "lruu": not known'),
        (("lru", "0"), "a cache of size zero"),
        (("lru", "lots"), "write bytes"),
        (("lru,lru", "10"), "named twice"),
        (([], "10"), "no policy named"),
        (("lru", []), "no size named"),
        ((None, "10"), "not iterable"),
    ],
)
def test_nonsense_is_answered_in_one_line(git, arguments, said):
    with pytest.raises((fovea.Error, TypeError)) as error:
        fovea.replay(git, *arguments)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_more_nonsense(git):
    for call in (
        lambda: fovea.replay(git, "lru", "10", repeat=0),
        lambda: fovea.replay(git, "lru", "10", ops="flush"),
        lambda: fovea.mrc(git, rate=2.0),
        lambda: fovea.mrc(git, exact=True, shards=True),
        lambda: fovea.sweep([git, git], "lru", "10"),
        lambda: fovea.sweep(git, "lru", "10", threads=0),
        lambda: fovea.sweep([pyarrow.table({"object": [1]})], "lru", "10"),
    ):
        with pytest.raises(fovea.Error) as error:
            call()
        assert "\n" not in str(error.value)


def test_other_threads_run_meanwhile(git):
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before, started = counted[0], time.monotonic()
    while time.monotonic() - started < 0.5:
        fovea.replay(git, "lru", "10%", repeat=100)
    done.set()
    thread.join()
    assert counted[0] - before > 20


def test_control_c_ends_a_replay(git):
    program = f"import fovea; print('go', flush=True); fovea.replay({git!r}, 'all', map(str, range(9, 999)), repeat=9)"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "go\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=20)
    assert "KeyboardInterrupt" in said and child.returncode != 0


def test_policies_are_listed():
    known = fovea.policies()
    assert known["s3-fifo"]["parameters"]["small"] == 0.1 and "Belady" in known["belady"]["source"]
