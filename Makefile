# SPDX-License-Identifier: GPL-2.0-only OR MIT
#   make demo     shows everything working in the virtual phone
#   make test     all tests, the virtual phone's included
#   make bench    measures, with results as JSON in results/
#   make install  into $(DESTDIR)$(PREFIX)
PREFIX ?= /usr/local
CARGO ?= cargo
# Where .cargo/config.toml makes release programs land.
RELEASE := target/x86_64-unknown-linux-gnu/release
FOVEA := $(RELEASE)/fovea
# Scenarios that `make test` runs in the virtual phone.
TEST_SCENARIOS ?= crash no-memory-controller no-pidfd no-psi no-zram
# Scenarios that `make bench` measures in exact mode.
BENCH_SCENARIOS ?=

.PHONY: demo test bench install build clean check-style setup fetch test-phone

demo: build
	$(FOVEA) phone demo

test: setup check-style fetch
	$(CARGO) test --workspace
	$(MAKE) --no-print-directory test-phone

bench: build
	@mkdir -p results
	@[ -n "$(BENCH_SCENARIOS)" ] || { echo "no BENCH_SCENARIOS; name some, e.g. make bench BENCH_SCENARIOS=lowmem" >&2; exit 2; }
	set -e; for s in $(BENCH_SCENARIOS); do $(FOVEA) phone run $$s --exact --json results/$$s.json; done

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/fovea
	install -m 755 $(FOVEA) $(DESTDIR)$(PREFIX)/bin/fovea
	install -m 755 $(FOVEA) $(RELEASE)/fovea-guest $(DESTDIR)$(PREFIX)/lib/fovea/

setup:
	@sh tools/setup.sh

build: setup
	$(CARGO) build --release --workspace

# The kernel, so that tests which boot it are not skipped.
fetch: setup
	$(CARGO) run --quiet -p fovea-phone --example fetch

test-phone: build
	set -e; for s in $(TEST_SCENARIOS); do $(FOVEA) phone run $$s; done

# rustup's minimal profile has neither rustfmt nor clippy.
check-style:
	@if $(CARGO) fmt --version >/dev/null 2>&1; then $(CARGO) fmt --all --check; else echo "rustfmt: skipped, not installed"; fi
	@if $(CARGO) clippy --version >/dev/null 2>&1; then $(CARGO) clippy --workspace --all-targets -- -D warnings; else echo "clippy: skipped, not installed"; fi

clean:
	$(CARGO) clean
	rm -rf results
