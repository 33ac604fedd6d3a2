# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Replays an oracleGeneral trace with the PyPI package libcachesim; prints a line per policy and size.

usage: run_libcachesim.py TRACE objects|bytes POLICY[,POLICY...] SIZE[,SIZE...] [HASHPOWER]
prints: POLICY SIZE REQUESTS MISSES CPU_SECONDS
"""

import sys
import time

import libcachesim as lcs

POLICIES = {
    "lru": lcs.LRU,
    "fifo": lcs.FIFO,
    "lfu": lcs.LFU,
    "clock": lcs.Clock,
    "sieve": lcs.Sieve,
    "s3-fifo": lcs.S3FIFO,
    "2q": lcs.TwoQ,
    "arc": lcs.ARC,
    "lirs": lcs.LIRS,
    "belady": lcs.Belady,
    "random": lcs.Random,
    "hyperbolic": lcs.Hyperbolic,
    "lhd": lcs.LHD,
}


def main() -> None:
    trace, weight, policies, sizes = sys.argv[1:5]
    hashpower = int(sys.argv[5]) if len(sys.argv) > 5 else 24
    for size in sizes.split(","):
        for policy in policies.split(","):
            parameters = lcs.ReaderInitParam(ignore_obj_size=weight == "objects")
            reader = lcs.TraceReader(trace, lcs.TraceType.ORACLE_GENERAL_TRACE, parameters)
            cache = POLICIES[policy](int(size), hashpower=hashpower)
            start = time.process_time()
            miss_ratio, _ = cache.process_trace(reader)
            elapsed = time.process_time() - start
            requests = reader.get_num_of_req()
            print(policy, size, requests, round(miss_ratio * requests), f"{elapsed:.6f}", flush=True)


if __name__ == "__main__":
    main()
