# SPDX-License-Identifier: GPL-2.0-only OR MIT
import pandas
import pyarrow
import pytest

import fovea


def test_a_trace_file_goes_round(git, tmp_path):
    trace = fovea.Trace.open(git)
    table = pyarrow.table(trace)
    assert len(table) == len(trace) > 0
    assert table.schema.names[:2] == ["time_ns", "app"] and table.column("object").null_count == 0
    again = fovea.Trace.from_arrow(table)
    again.write(tmp_path / "again.parquet")
    assert pyarrow.table(fovea.Trace.open(tmp_path / "again.parquet")).equals(table)
    sizes = ["1%", "10%", "1MiB"]

    def misses(trace):
        return [row["misses"] for row in fovea.replay(trace, "all", sizes)]

    assert misses(git) == misses(trace) == misses(table)
    # A data frame holds no notes, which tell that this is a recording.
    assert misses(table.to_pandas()) == misses(table.replace_schema_metadata()) != misses(table)


def test_numbers_are_not_copied():
    objects = pyarrow.array([1, 2, 1, 3] * 1000, pyarrow.uint64())
    trace = fovea.Trace.from_arrow(pyarrow.table({"object": objects}))
    back = pyarrow.table(trace).column("object").chunk(0)
    assert back.buffers()[1].address == objects.buffers()[1].address


def test_a_data_frame_of_objects_is_a_trace():
    frame = pandas.DataFrame({"object": [1, 2, 1, 3, 1], "size_bytes": [10, 20, 10, 5, 10]})
    by_objects, by_bytes = fovea.replay(frame, "lru", ["2", "30B"])
    assert (by_objects["requests"], by_objects["misses"]) == (5, 3)
    assert (by_bytes["by_bytes"], by_bytes["footprint_bytes"], by_bytes["misses"]) == (True, 35, 3)


def test_a_slice_begins_where_it_begins():
    table = pyarrow.table({"object": [9, 9, 1, 2, 1], "space": ["a", "a", "b", "b", "b"]})
    assert fovea.replay(table.slice(2), "lru", "5").rows[0]["footprint_objects"] == 2


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"object": [[1]]}, "is not read; cast it to uint64 or string"),
        ({"object": [1], "size_bytes": [-1]}, "record 1: size_bytes is -1"),
        ({"object": [1, None]}, "record 2: object is null"),
        ({"thing": [1]}, "no column named object, nor called as ids are (thing)"),
        ({"object": [1], "op": ["dance"]}, 'op is "dance"'),
        ({"object": pyarrow.array([], pyarrow.uint64())}, "no request to replay among 0 records"),
    ],
)
def test_bad_tables_are_answered_in_one_line(columns, said):
    with pytest.raises(fovea.Error) as error:
        fovea.replay(pyarrow.table(columns), "lru", "10")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_what_is_no_trace_is_told(tmp_path):
    with pytest.raises(TypeError, match="int: no trace; give a path"):
        fovea.replay(5, "lru", "10")
    with pytest.raises(fovea.Error, match="check the name"):
        fovea.Trace.open(tmp_path / "none.parquet")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and then nothing that is a trace PAR1")
    with pytest.raises(fovea.Error, match="fovea trace import"):
        fovea.replay(broken, "lru", "10")
    with pytest.raises(fovea.Error, match="make room|check the name"):
        fovea.Trace.from_arrow(pyarrow.table({"object": [1]})).write(tmp_path / "no/folder.parquet")
