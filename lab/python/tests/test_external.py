# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Policies that are programs of their own (docs/guide/lab-policies.md): `external:PROGRAM`."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import fovea

ROOT = Path(__file__).resolve().parents[3]
CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler (cc) here")


def build(source, program, *options):
    subprocess.run([CC, "-O1", *options, "-I", ROOT / "lib/policy", "-o", program, ROOT / source], check=True)
    return f"external:{program}"


@pytest.fixture
def clock(tmp_path):
    """The documented example, whose twin the lab has built in."""
    return build("lib/policy/clock.c", tmp_path / "clock")


def under(policy, found):
    """Rows of a policy, without its name."""
    rows = [row for row in found if row["policy"].startswith(policy)]
    assert rows
    return [{name: value for name, value in row.items() if name != "policy"} for row in rows]


@needs_cc
def test_a_program_is_its_twin(clock, git, sqlite, tmp_path):
    policies = ["clock:bits=2", f"{clock}:bits=2"]
    for found in (
        fovea.replay(git, policies, "1%,10%,4MiB", warm_up="10%"),
        fovea.mrc(git, policies, "10%,50%", exact=True),
        fovea.mrc(git, policies, "10%,50%"),
        fovea.sweep([git, sqlite], policies, "1%,10%", tmp_path / "swept", threads=2),
    ):
        assert under("clock", found) == under("external:", found)
    # Another build is another policy, and results say which it was.
    assert all(":xxh64=" in row["policy"] for row in found if row["policy"].startswith("external:"))


@needs_cc
def test_a_program_that_fails_is_one_exception(git, sqlite, tmp_path):
    ends = build("lab/tests/external_wrong.c", tmp_path / "ends", "-DENDS_LATER")
    lies = build("lab/tests/external_wrong.c", tmp_path / "lies", "-DCLAIMS_A_HIT")
    cases = [
        ("external:/no/such/program", "external:/no/such/program: No such file or directory"),
        ("external", "no program named"),
        (f"external:{__file__}", "cannot be started: Permission denied"),
        (ends, "ended before it answered request 65537 and those behind it"),
        (lies, "at request 1: says that object 0 is a hit, which it does not hold"),
    ]
    for policy, said in cases:
        for call in (
            lambda: fovea.replay(git, ["lru", policy], "10", repeat=200),
            lambda: fovea.mrc(git, policy, "10", repeat=200, exact=True),
            lambda: fovea.sweep([git, sqlite], ["lru", policy], "10", tmp_path / "swept", threads=1, repeat=200),
        ):
            with pytest.raises(fovea.Error) as error:
                call()
            assert said in str(error.value) and "\n" not in str(error.value)
    # What had been finished before it is kept.
    assert fovea.sweep([git, sqlite], "lru", "10", tmp_path / "swept", repeat=200).resumed == 1


def test_control_c_ends_a_replay_whose_program_is_silent(git, tmp_path):
    program = tmp_path / "silent"
    program.write_text(f"#!{sys.executable}\nimport pathlib, time\npathlib.Path({str(tmp_path / 'begun')!r}).touch()\ntime.sleep(3600)\n")
    program.chmod(0o755)

    def interrupt():
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        # This process alone, as a notebook's button does; a terminal tells the program, too.
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        fovea.replay(git, f"external:{program}", "10")
    thread.join()
