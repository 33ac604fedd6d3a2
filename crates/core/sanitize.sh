#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Runs the eCache's tests with the C core under AddressSanitizer and UndefinedBehaviorSanitizer (gcc's).
set -eu
cd "$(dirname "$0")/../.."
# The sanitizers' libraries cannot be linked statically into a static program. Memory sizes include red zones here, so the
# test of the memory formula is left out.
triple=$(rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)
# Its library has to be the first one loaded.
export "CARGO_TARGET_${triple}_RUNNER=env LD_PRELOAD=$(gcc -print-file-name=libasan.so)"
ASAN_OPTIONS=detect_leaks=0 \
CC=gcc \
CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -g" \
RUSTFLAGS="-C target-feature=-crt-static -C linker=gcc -C link-arg=-Wl,--no-as-needed -C link-arg=-lasan -C link-arg=-lubsan" \
	cargo test --package fovea-core --target-dir target/sanitize --tests "$@" -- --skip memory_stays_within_the_formula
