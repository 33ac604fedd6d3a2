# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Reads a JSON file, puts it into a new database, and asks that.
import json
import sqlite3

with open("/data/rows.json") as file:
    rows = json.load(file)
database = sqlite3.connect("/data/rows.db")
database.execute("create table rows (id integer primary key, text text)")
database.executemany("insert into rows values (:id, :text)", rows)
database.commit()
texts = database.execute("select count(distinct text) from rows").fetchone()[0]
there = all(database.execute("select text from rows where id = ?", (row["id"],)).fetchone()[0] == row["text"] for row in rows)
print(len(rows), "rows,", texts + 1, "texts at most,", "all there" if there else "some lost")
