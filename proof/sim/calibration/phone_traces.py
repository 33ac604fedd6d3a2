#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What the traces that the lab makes for hybrid memory are fitted to: measured from the public traces of phones "MobileBlockIOTraces"
(acsl-technion, `*_exec.csv.gz`, which are of apps in use).

usage: phone_traces.py TRACE.csv.gz ...

Prints for each trace, and as the median of all:
  rate      pages asked for in a second, by the trace's own clock
  mixed     of a thousand pages asked for twice and more, those both read and written: at least one request in ten of either kind
  top10     share of an app's written requests that go to the tenth of its written pages with the most, in percent
  recurs    share of an app's written requests for pages that were also written one window before, in percent; a window is 2000 of them
  lasts     the same sixteen windows before, as a share of `recurs`; only where that is 1 percent and more
Requests of kernel threads (kworker, f2fs, jbd2 and others) are no app's. Traces are taken below a page cache: of reads only misses are in
them, so `top10`, `recurs` and `lasts` are of what apps write themselves (fsync), which no cache holds back.
"""

import csv
import gzip
import statistics
import sys
from array import array
from collections import Counter

WINDOW, FAR = 2000, 16
KERNEL = ("kworker", "f2fs", "jbd2", "kswapd", "loop", "<...>")


def measure(path):
    uses, app_writes, first, last = {}, array("Q"), None, None
    with gzip.open(path, "rt", errors="replace") as lines:
        rows = csv.reader(lines)
        next(rows)
        for row in rows:
            if len(row) != 6 or row[2] not in ("R", "W") or int(row[4]) == 0 or int(row[4]) >= 1 << 22:
                continue
            at, start, length = float(row[5]), int(row[3]) * 512, int(row[4]) * 512
            first, last = (at if first is None else first), at
            write, app = row[2] == "W", not row[0].startswith(KERNEL)
            for page in range(start // 4096, (start + length - 1) // 4096 + 1):
                # Reads in the upper half of the number, writes in the lower.
                uses[page] = uses.get(page, 0) + (1 if write else 1 << 32)
                if write and app:
                    app_writes.append(page)
    counts = [(n >> 32, n & 0xFFFFFFFF) for n in uses.values()]
    again = [pair for pair in counts if sum(pair) > 1]
    found = {
        "rate": sum(map(sum, counts)) / max(last - first, 1e-9),
        "mixed": 1000 * sum(10 * min(pair) > sum(pair) for pair in again) / max(len(again), 1),
    }
    by_page = sorted(Counter(app_writes).values(), reverse=True)
    if len(app_writes) >= WINDOW:
        found["top10"] = 100 * sum(by_page[: max(1, len(by_page) // 10)]) / len(app_writes)
    windows = [Counter(app_writes[at : at + WINDOW]) for at in range(0, len(app_writes) - WINDOW + 1, WINDOW)]

    def recurring(lag):
        pairs = list(zip(windows, windows[lag:]))
        hits = sum(n for before, now in pairs for page, n in now.items() if page in before)
        return 100 * hits / (len(pairs) * WINDOW) if len(pairs) >= 2 else None

    near, far = recurring(1), recurring(FAR)
    if near is not None:
        found["recurs"] = near
    if near is not None and far is not None and near >= 1:
        found["lasts"] = far / near
    return found


def main():
    names = ["rate", "mixed", "top10", "recurs", "lasts"]
    print(f"{'trace':24}" + "".join(f"{name:>10}" for name in names))
    found = {}
    for path in sys.argv[1:]:
        found[path] = measure(path)
        cells = (f"{found[path][name]:10.2f}" if name in found[path] else f"{'':>10}" for name in names)
        print(f"{path.rsplit('/', 1)[-1].removesuffix('.csv.gz'):24}" + "".join(cells), flush=True)
    of = {name: [one[name] for one in found.values() if name in one] for name in names}
    print(f"{'median':24}" + "".join(f"{statistics.median(of[name]):10.2f}" if of[name] else f"{'':>10}" for name in names))


if __name__ == "__main__":
    main()
