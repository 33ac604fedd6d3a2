#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Fuzzes without cargo-fuzz and without a nightly compiler: `tools/fuzz.sh lab/fuzz [SECONDS [TARGET...]]`.
# What is found is left in FOLDER/artifacts/TARGET. Needs a C++ compiler, for libFuzzer.
set -eu
[ $# -ge 1 ] || { echo "usage: tools/fuzz.sh FOLDER [SECONDS [TARGET...]]" >&2; exit 2; }
[ -f "$1/Cargo.toml" ] && [ -d "$1/fuzz_targets" ] || { echo "$1: holds no fuzz targets; name lab/fuzz or fuzz" >&2; exit 2; }
folder=$1 root=$(cd "$(dirname "$0")/.." && pwd)
cd "$folder"
seconds=${2:-60}
[ $# -ge 2 ] && shift 2 || shift 1
[ $# -ge 1 ] || set -- $(cd fuzz_targets && ls ./*.rs | sed 's|^\./||; s|\.rs$||')
target=$(rustc -vV | sed -n 's/^host: //p')
# As cargo-fuzz does, less the sanitizer, which is what needs nightly: edge counters and compared values guide the fuzzer. The target is
# named so that build scripts are not instrumented.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares"
# What is fuzzed are the versions that the product has; both folders share what they have in common.
[ Cargo.lock -nt "$root/Cargo.lock" ] || cp "$root/Cargo.lock" Cargo.lock
built=$root/target/fuzz
cargo build --release --target-dir "$built" --target "$target" $(printf ' --bin %s' "$@")
status=0
for name; do
	mkdir -p "corpus/$name" "artifacts/$name"
	seeds=; [ ! -d "seeds/$name" ] || seeds=seeds/$name
	program=$built/$target/release/$name log=artifacts/$name/log
	if "$program" -max_total_time="$seconds" -max_len=4096 -timeout=20 -print_final_stats=1 -verbosity=0 \
		-artifact_prefix="artifacts/$name/" "corpus/$name" $seeds >"$log" 2>&1
	then
		echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs, nothing found"
	else
		status=1
		sed -n '/panicked at/,/^$/p; /ERROR: libFuzzer/p; /Test unit written/p' "$log" >&2
		echo "$name: failed, see $folder/$log; to repeat it: cd $folder && $program artifacts/$name/FILE" >&2
	fi
done
exit $status
