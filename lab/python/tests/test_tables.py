# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What researchers hold in memory or in files of their own, as traces."""

import json

import numpy
import pandas
import pyarrow
import pyarrow.parquet
import pytest

import fovea

IDS = [1, 2, 1, 3, 1, 2]
SIZES = [10, 20, 10, 5, 10, 20]


def misses(trace, sizes="2,30B", **how):
    return [row["misses"] for row in fovea.replay(trace, "lru", sizes, **how)]


EXPECTED = misses(pandas.DataFrame({"object": IDS, "size_bytes": SIZES}))


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"])
def test_arrays_of_every_kind_are_traces(kind):
    ids, sizes = numpy.array(IDS, kind), numpy.array(SIZES, kind)
    assert misses(ids, "2") == EXPECTED[:1]
    assert misses({"object": ids, "size_bytes": sizes}) == EXPECTED
    assert misses(pandas.DataFrame({"object": ids, "size_bytes": sizes})) == EXPECTED
    assert misses({"object": ids[::-1][::-1], "size_bytes": numpy.array([SIZES, SIZES], kind)[1]}) == EXPECTED


def test_texts_categoricals_and_lists_are_ids():
    texts = [f"key-{id}" for id in IDS]
    for ids in (texts, numpy.array(texts), numpy.array(texts, object), numpy.array(texts, "S").astype("U")):
        assert misses({"object": ids, "size_bytes": SIZES}) == EXPECTED
    for ids in (pandas.Categorical(texts), pandas.Categorical(IDS), pandas.Series(texts, dtype="string"), texts):
        assert misses(pandas.DataFrame({"object": ids, "size_bytes": SIZES})) == EXPECTED
    assert misses(IDS, "2") == EXPECTED[:1]
    # Spellings are never one object, however they come.
    spellings = ["7", "007", "+7", "7"]
    assert fovea.replay(spellings, "lru", "9").rows[0]["footprint_objects"] == 3
    assert fovea.replay([-1, 1, -1], "lru", "9").rows[0]["footprint_objects"] == 2


def test_polars_in_and_out():
    polars = pytest.importorskip("polars")
    texts = [f"key-{id}" for id in IDS]
    for ids in (IDS, texts, polars.Series(texts, dtype=polars.Categorical), polars.Series(IDS, dtype=polars.Int32)):
        assert misses(polars.DataFrame({"key": ids, "size": SIZES})) == EXPECTED
    times = polars.DataFrame({"key": IDS, "timestamp": pandas.to_datetime(range(6), unit="s").to_numpy()})
    expires = fovea.replay(times, "lru:ttl-s=2", "9").rows[0]["misses"]
    assert expires == fovea.replay(times.with_columns(timestamp=polars.Series(range(6))).rename({"timestamp": "time_s"}), "lru:ttl-s=2", "9").rows[0]["misses"]
    found = fovea.replay(times, "lru,fifo", "2")
    assert polars.DataFrame(found)["misses"].to_list() == [row["misses"] for row in found]
    assert polars.DataFrame(fovea.trace(times))["key"].to_list() == IDS


def test_columns_that_are_called_otherwise():
    frame = pandas.DataFrame({"key": IDS, "size": SIZES, "when": range(6)})
    # A column `size` weighed each object 1 byte.
    assert misses(frame) == EXPECTED
    assert fovea.trace(frame).understood == 'object: "key"; size_bytes: "size"; not read: "when"'
    other = frame.rename(columns={"key": "a", "size": "b"})
    with pytest.raises(fovea.Error, match=r"no column named object, nor called as ids are \(a, b, when\); say which: columns="):
        fovea.replay(other, "lru", "2")
    assert misses(fovea.trace(other, columns={"object": "a", "size_bytes": "b"})) == EXPECTED
    with pytest.raises(fovea.Error, match='object may be in several columns: "key", "url"'):
        fovea.replay(frame.rename(columns={"when": "url"}), "lru", "2")
    assert misses(fovea.trace(frame.assign(bytes=1), columns={"size_bytes": "size"})) == EXPECTED
    for columns, said in [({"thing": "key"}, "which a trace has not"), ({"object": "nobody"}, "which is not there")]:
        with pytest.raises(fovea.Error, match=said):
            fovea.trace(frame, columns=columns)


def test_times_have_a_unit():
    seconds = numpy.array([0, 1, 2, 3, 4, 5])

    frame = pandas.DataFrame({"object": IDS, "time": seconds})
    with pytest.raises(fovea.Error, match="times in \"time\" have no unit; say time_unit='s'"):
        fovea.replay(frame, "lru", "2")
    dates = pandas.to_datetime(seconds, unit="s")
    expires = [row["misses"] for row in fovea.replay(fovea.trace(frame, time_unit="s"), "lru:ttl-s=2", "9")]
    for trace in (
        fovea.trace(frame.rename(columns={"time": "time_s"})),
        fovea.trace(frame.assign(time=seconds * 1000), time_unit="ms"),
        fovea.trace(frame.assign(time=seconds - 3), time_unit="s"),
        pandas.DataFrame({"object": IDS, "timestamp": dates}),
        pandas.DataFrame({"object": IDS, "timestamp": dates.astype("datetime64[us]")}),
        {"object": numpy.array(IDS), "time": dates.to_numpy()},
        {"object": numpy.array(IDS), "time": dates.to_numpy().astype("datetime64[m]").astype("datetime64[s]") + seconds.astype("timedelta64[s]")},
    ):
        assert [row["misses"] for row in fovea.replay(trace, "lru:ttl-s=2", "9")] == expires
    assert expires != misses(frame.drop(columns="time"), "9")
    assert misses(fovea.trace(frame, columns={"time_ns": None}), "2") == EXPECTED[:1]


def test_operations_write_and_delete():
    frame = pandas.DataFrame({"key": [1, 1, 2, 1], "op": ["GET", "SET", "get", "DELETE"]})
    assert [row["requests"] for row in fovea.replay(frame, "lru", "2")] == [3]
    assert [row["requests"] for row in fovea.replay(frame, "lru", "2", reads_only=True)] == [2]


def test_what_cannot_be_a_trace_is_told():
    for table, said in [
        ({"object": [1.5]}, "object is 1.5; take whole numbers below 2"),
        ({"object": numpy.array([2.0**53])}, "object is 9007199254740992"),
        ({"object": numpy.zeros((2, 2))}, "has 2 dimensions"),
        ({"object": [1, 2], "size_bytes": [1]}, "1 rows, where object has 2"),
        ({"object": [{}]}, "neither whole numbers nor texts"),
        ({"object": [1], "size_bytes": [-5]}, "size_bytes is -5"),
    ]:
        with pytest.raises(fovea.Error, match=said):
            fovea.replay(table, "lru", "1")
    with pytest.raises(fovea.Error, match=r"size 0.1: neither a number of objects nor a text; .* as '10%'"):
        fovea.replay(IDS, "lru", 0.1)
    for call in (fovea.mrc, lambda *a: fovea.replay(*a)):
        with pytest.raises(fovea.Error, match="size True"):
            call(IDS, "lru", [True])


def test_files_are_read_as_they_are_said_to_be(tmp_path):
    frame = pandas.DataFrame({"key": IDS, "size": SIZES, "time": [1, 2, 3, 4, 5, 6]})
    frame.to_csv(tmp_path / "pandas.csv")
    with pytest.raises(fovea.Error, match="time-unit=ms"):
        fovea.Trace.open(tmp_path / "pandas.csv")
    trace = fovea.Trace.open(tmp_path / "pandas.csv", csv={"time-unit": "ms"})
    assert misses(trace) == EXPECTED
    assert 'object: "key" (column 2)' in trace.understood
    assert pyarrow.table(trace).column("time_ns").to_pylist()[:2] == [1_000_000, 2_000_000]
    assert misses(fovea.trace(tmp_path / "pandas.csv", csv="time=0")) == EXPECTED
    frame.to_csv(tmp_path / "bare.csv", header=False, index=False)
    with pytest.raises(fovea.Error, match="may be read in several ways"):
        fovea.replay(tmp_path / "bare.csv", "lru", "2")
    how = {"id": 1, "size": 2, "time": 3, "time_unit": "s", "header": False}
    report = fovea.import_trace(tmp_path / "bare.csv", tmp_path / "t.parquet", csv=how)
    assert report["records"] == 6 and report["sanity"]["objects"] == 3 and "column 1" in report["understood"]
    assert misses(tmp_path / "t.parquet") == EXPECTED
    backwards = frame.assign(time_s=[6, 5, 4, 3, 2, 1]).drop(columns="time")
    backwards.to_csv(tmp_path / "back.csv", index=False)
    with pytest.raises(fovea.Error, match="time goes back"):
        fovea.Trace.open(tmp_path / "back.csv")
    ordered = pyarrow.table(fovea.Trace.open(tmp_path / "back.csv", order="sort"))
    assert ordered.column("object").to_pylist() == IDS[::-1]
    with pytest.raises(fovea.Error, match="order 'up'|order \"up\""):
        fovea.Trace.open(tmp_path / "back.csv", order="up")


def test_parquet_files_of_pandas_are_traces(tmp_path):
    frame = pandas.DataFrame({"key": [f"k{id}" for id in IDS], "size": SIZES, "timestamp": pandas.to_datetime(range(6), unit="s")})
    for compression in ("snappy", "gzip", "zstd", "lz4", None):
        frame.to_parquet(tmp_path / "p.parquet", compression=compression)
        assert misses(tmp_path / "p.parquet") == EXPECTED, compression
    frame[["key"]].to_parquet(tmp_path / "ids.parquet", index=False)
    assert misses(tmp_path / "ids.parquet", "2") == EXPECTED[:1]


def test_what_the_command_line_has(tmp_path):
    made = tmp_path / "made.parquet"
    fovea.make(made, requests=2000, objects=100, zipf=0.9, seed=7)
    assert fovea.info(made)["records"] == 2000
    assert 0 < fovea.filter(made, tmp_path / "part.parquet", sample=0.2) < 2000
    assert fovea.export(made, tmp_path / "made.bin") == 2000
    assert (tmp_path / "made.bin").stat().st_size == 24 * 2000
    assert misses(tmp_path / "made.bin", "10") == misses(made, "10")
    with pytest.raises(fovea.Error, match="nothing to filter by"):
        fovea.filter(made, tmp_path / "none.parquet")
    found = fovea.ecache("L", launches=4, width=0)
    assert len(found) > 5 and {"case", "configuration"} <= set(found.rows[0])
    listed = fovea.experiments()
    assert "hybrid-fig2" in listed and listed["hybrid-fig2"]["source"].startswith("Hybrid15")
    found = fovea.reproduce("hybrid-fig2", quick=True)
    assert found.document["verdicts"] and found.rows[0]["configuration"]
    assert json.loads(json.dumps(found.document)) == found.document
    with pytest.raises(fovea.Error, match="experiment \"none\": not known"):
        fovea.reproduce("none")
    with pytest.raises(fovea.Error, match="write a trace in memory with Trace.write"):
        fovea.info(fovea.trace(IDS))


def test_a_trace_of_apps_runs_through_hybrid_memory(tmp_path):
    rows = pandas.DataFrame(
        {
            "op": "block",
            "space": "disk:a",
            "object": 0,
            "app": ["game", "mail"] * 50,
            "offset_bytes": [4096 * (n % 10) for n in range(100)],
            "length_bytes": 4096,
        }
    )
    fovea.trace(rows).write(tmp_path / "apps.parquet")
    found = fovea.hybrid(tmp_path / "apps.parquet", "seed,lru", "50%", foreground="game")
    assert [row["configuration"] for row in found] == ["seed", "lru"] and found.rows[0]["requests"] == 100
