# SPDX-License-Identifier: GPL-2.0-only OR MIT
import os
import signal
import threading
import time

import pytest

import fovea

ray = pytest.importorskip("ray", reason="ray is not installed; FOVEA_PYTHON_RAY=1 installs it")
GRID = {"policies": "all", "sizes": "1%,10%,50%", "repeat": 40, "keep": False}


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.second = made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_killed_node_changes_nothing(cluster, git, sqlite, tmp_path):
    fovea.sweep([git, sqlite], output=tmp_path / "local", **GRID)
    journal, killed = tmp_path / "ray.partial.jsonl", []

    def kill():
        while not journal.exists() or journal.read_bytes().count(b"\n") < 5:
            time.sleep(0.01)
        cluster.remove_node(cluster.second, allow_graceful=False)
        killed.append(journal.exists() and journal.read_bytes().count(b"\n"))

    thread = threading.Thread(target=kill)
    thread.start()
    found = fovea.sweep([git, sqlite], output=tmp_path / "ray", engine="ray", **GRID)
    thread.join()
    assert killed and 5 <= killed[0] < len(found), "it was killed on the way"
    for suffix in (".json", ".parquet"):
        assert (tmp_path / f"ray{suffix}").read_bytes() == (tmp_path / f"local{suffix}").read_bytes()
    assert not journal.exists()


def test_a_cell_that_kills_its_workers_is_named(cluster, git, tmp_path, monkeypatch):
    import fovea._ray

    whole = fovea._ray._cell

    def deadly(trace, key, policy, size, *more):
        if policy == "sieve":
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(trace, key, policy, size, *more)

    monkeypatch.setattr(fovea._ray, "_cell", deadly)
    with pytest.raises(fovea.Error) as error:
        fovea.sweep(git, "lru,sieve", "10%", tmp_path / "ray", engine="ray", retries=1)
    said = str(error.value)
    assert f"{git}, sieve at 10%: its worker was lost 2 times" in said and "\n" not in said


def test_nonsense_is_answered(git):
    with pytest.raises(fovea.Error, match="engine 'cloud': not known; take local or ray"):
        fovea.sweep(git, "lru", "10", engine="cloud")
