# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Lost cells of a sweep, on a cluster that is played: which worker is lost, and how often, is up to the test."""

import sys
import types

import pytest

import fovea


class RayError(Exception):
    pass


class WorkerCrashedError(RayError):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        self.cause = cause


class Played:
    """What of ray a sweep uses. `loses` says of a cell and its attempt, from 1, whether the worker is lost."""

    exceptions = types.SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError, WorkerCrashedError=WorkerCrashedError)

    def __init__(self, loses):
        self.loses, self.attempts, self.tasks = loses, {}, {}

    def is_initialized(self):
        return True

    def cluster_resources(self):
        return {"CPU": 2}

    def remote(self, **options):
        assert options["max_retries"] == 0, "the sweep counts"
        return lambda function: types.SimpleNamespace(remote=lambda *words: self.task(function, words))

    def task(self, function, words):
        number = len(self.tasks)
        self.tasks[number] = (function, words)
        return number

    def wait(self, waiting, timeout):
        return waiting[-1:], waiting[:-1]

    def get(self, number):
        function, words = self.tasks[number]
        cell = words[2:4]
        self.attempts[cell] = self.attempts.get(cell, 0) + 1
        if self.loses(cell, self.attempts[cell]):
            raise WorkerCrashedError("The worker died unexpectedly while executing this task.\nAnd more.")
        try:
            return function(*words)
        except fovea.Error as error:
            raise RayTaskError(error) from None

    def cancel(self, number, force):
        pass


@pytest.fixture
def play(monkeypatch):
    def play(loses):
        played = Played(loses)
        monkeypatch.setitem(sys.modules, "ray", played)
        return played

    return play


GRID = {"policies": "lru,sieve,arc", "sizes": "1%,10%"}


@pytest.mark.parametrize(("retries", "lost"), [(3, 3), (1, 1), (3, 1)])
def test_lost_cells_are_tried_again(git, tmp_path, play, retries, lost):
    played = play(lambda cell, attempt: cell[0] != "arc" and attempt <= lost)
    fovea.sweep(git, output=tmp_path / "ray", engine="ray", retries=retries, **GRID)
    fovea.sweep(git, output=tmp_path / "local", **GRID)
    for suffix in (".json", ".parquet"):
        assert (tmp_path / f"ray{suffix}").read_bytes() == (tmp_path / f"local{suffix}").read_bytes()
    assert {cell: count for cell, count in played.attempts.items() if cell[0] != "arc"} == {
        (policy, size): lost + 1 for policy in ("lru", "sieve") for size in ("1%", "10%")
    }
    assert played.attempts[("arc", "1%")] == 1


@pytest.mark.parametrize("retries", [0, 3])
def test_a_cell_that_is_lost_again_and_again_is_named(git, tmp_path, play, retries):
    played = play(lambda cell, attempt: cell == ("sieve", "10%"))
    with pytest.raises(fovea.Error) as error:
        fovea.sweep(git, output=tmp_path / "out", engine="ray", retries=retries, **GRID)
    said = str(error.value)
    assert said.startswith(f"{git}, sieve at 10%: its worker was lost {retries + 1} times (The worker died unexpectedly")
    assert "finished cells are kept in" in said and "\n" not in said
    assert played.attempts[("sieve", "10%")] == retries + 1
    # What was finished is not computed again.
    kept = (tmp_path / "out.partial.jsonl").read_bytes().count(b"\n")
    play(lambda cell, attempt: False)
    again = fovea.sweep(git, output=tmp_path / "out", engine="ray", **GRID)
    assert (again.resumed, len(again)) == (kept, 6)


def test_a_cell_s_own_error_is_not_tried_again(git, tmp_path, play):
    played = play(lambda cell, attempt: False)
    with pytest.raises(fovea.Error, match="some must be left to count"):
        fovea.sweep(git, output=tmp_path / "out", engine="ray", warm_up=10**12, **GRID)
    assert set(played.attempts.values()) == {1}


def test_warm_up_and_intervals_go_to_the_workers(git, tmp_path, play):
    play(lambda cell, attempt: attempt == 1)
    counted = {"warm_up": "10%", "interval": 100, **GRID}
    found = fovea.sweep(git, output=tmp_path / "ray", engine="ray", **counted)
    assert found.rows == fovea.sweep(git, **counted).rows and found.intervals is not None


@pytest.mark.parametrize("retries", [-1, 1.5, None, True])
def test_nonsense_is_answered(git, retries):
    with pytest.raises(fovea.Error, match="take 0 or more"):
        fovea.sweep(git, "lru", "10", engine="ray", retries=retries)
