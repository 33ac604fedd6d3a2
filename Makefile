# SPDX-License-Identifier: GPL-2.0-only OR MIT
#   make demo     shows everything working in the virtual phone
#   make test     all tests, the virtual phone's included
#   make test-python  the Python package alone, built and installed into a fresh virtual environment
#   make bench    measures, with results as JSON in results/ and as one page, results/report.html
#   make torture  a million operations on dm-ecache in the virtual phone, every block checked; all states of power; then less with the
#                 slab allocator's checks
#   make kernels  builds the kernel modules against every line of kernels that Debian offers
#   make soak         one user works and another attacks the daemon, for SOAK_MINUTES of the phone's time
#   make torture-debug  the same on a kernel with all checkers, which it builds first (half an hour)
#   make torture-heap  a million uses of shared buffers by four CPUs, behind each kind of IOMMU
#   make torture-aciom  dm-aciom under load and changing classes, each phase for minutes; other file systems, dm-ecache below and above, sleep
#   make torture-6.1  dm-ecache and dm-aciom on Debian 12's kernel: the torture tests, and the short list of file systems
#   make torture-kernels  dm-ecache on each line of kernels that DKMS builds for: the torture test, file systems, pages that change unmarked
#   make xfstests  the programs that xfstests brings (fsx, fsstress, asynchronous direct requests), with XFSTESTS=CHECKOUT of it
#   make torture-fs  dm-ecache under every file system and below and above other layers, and random operations as fsx does them
#   make test-deep    longer tests: broken builds and sanitizers of core, every fuzz target, the long torture test
#   make test-scores  10,000 forks, 50 changes of focus and the daemon's death: nobody keeps another oom_score_adj (as root)
#   make test-debian  builds and tries all of it in fresh chroots of Debian 12 and 13 (as root, with mmdebstrap)
#   make guest    programs for the virtual phone of another machine: MACHINE=virt-arm64 (virt-arm64-16k has the same) or virt-armhf
#   make binding  checks the device-tree binding of carve-outs with dt-schema
#   make test-arm the phone on arm64 with pages of 4 and of 16 KiB
#   make small    what goes on a device: daemon, command line and libfovea-heap, no phone and no lab
#   make extra    programs that stand beside it: fovea-top, fovea-metrics, fovea-bus, fovea-prefetch
#   make build    all of that, the phone and the lab
#                 Both need cargo, cc and make, and no network where cargo has its crates (CARGO_FLAGS=--offline). TARGET=aarch64-unknown-linux-gnu
#                 is for another CPU than this machine's; STATIC=0 links the C library dynamically.
#   make heap-library  libfovea-heap for programs in C (lib/heap); HEAP_CC is another compiler
#   make modules  the kernel modules, KDIR= another kernel's headers; modules_install puts them into that kernel's folder
#   make reproducible  builds `small` in two folders and compares
#   make man      the man pages and the shells' completions, of the command line and the configuration's types
#   make package-deb  packages for Debian, in target/deb
#   make test-packages  builds them in chroots of Debian 12 and 13, and installs, upgrades, removes and purges them on fresh machines of these
#   make hooks    has git check commit messages here
#   make release-check  what is to be done before a release
#   make install  into $(DESTDIR)$(PREFIX) and LIBDIR, what `make build` built; install-small: only what goes on a device; install-extra; uninstall
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
CARGO ?= cargo
RUSTC ?= rustc
CARGO_FLAGS ?=
# The machine's own where nothing is said. A cargo that is not called from here takes what .cargo/config.toml says.
# Root who installs may have no rustc (sudo's PATH has no ~/.cargo/bin): then it is what was built here.
HOST := $(or $(shell $(RUSTC) -vV 2>/dev/null | sed -n 's/^host: //p'),$(patsubst target/%/small/fovea,%,$(firstword $(wildcard target/*/small/fovea))))
TARGET ?= $(or $(HOST),x86_64-unknown-linux-gnu)
export CARGO_BUILD_TARGET := $(TARGET)
TARGET_IN_CAPITALS := $(shell echo $(TARGET) | tr a-z- A-Z_)
STATIC ?= 1
# After what .cargo/config.toml says under the same key, so that this is the last word.
ifeq ($(STATIC),0)
LINKED := --config 'target."cfg(target_os = \"linux\")".rustflags=["-C","target-feature=-crt-static"]'
endif
RELEASE := target/$(TARGET)/release
FOVEA := $(RELEASE)/fovea
# And what `cargo test --workspace` makes, which is not built twice: of one package alone cargo builds other features.
TESTS := target/$(TARGET)/debug
SMALL := target/$(TARGET)/small/fovea
SMALL_BYTES_MAX := 4000000
# libfovea-heap, for programs in C: lib/heap.
HEAP_LIBRARY := target/$(TARGET)/libfovea-heap
CROSS_aarch64-unknown-linux-gnu := aarch64-linux-gnu-gcc
CROSS_armv7-unknown-linux-gnueabihf := arm-linux-gnueabihf-gcc
CROSS_riscv64gc-unknown-linux-gnu := riscv64-linux-gnu-gcc
CROSS_x86_64-unknown-linux-gnu := x86_64-linux-gnu-gcc
ifneq ($(TARGET),$(HOST))
HEAP_CC ?= $(or $(CROSS_$(TARGET)),cc)
export CARGO_TARGET_$(TARGET_IN_CAPITALS)_LINKER ?= $(HEAP_CC)
endif
HEAP_CC ?= cc
HEAP_AR ?= $(if $(filter %-gcc,$(HEAP_CC)),$(HEAP_CC:-gcc=-ar),$(AR))
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
# Phones that lack something, and apps that crash.
TEST_SCENARIOS ?= crash no-memory-controller no-pidfd no-psi no-zram
# Who takes memory beside the apps: a boot each (docs/design/outsiders.md); `make bench` plays all of them.
TEST_OUTSIDERS ?= zram0
.PHONY: demo test test-quick test-deep test-scores test-debian test-packages bench soak torture torture-debug torture-fs torture-heap torture-aciom torture-6.1 torture-kernels xfstests kernels install install-small install-extra uninstall modules modules_install reproducible build whole small extra heap-library clean check-style release-check hooks man package-deb \
	binding guest setup setup-tests fetch test-arm test-rust test-modules test-phone test-python

demo: setup whole
	$(FOVEA) phone demo

test: setup-tests check-style
	$(CARGO) test --workspace --no-run
	$(TESTS)/examples/fetch --newest
	tools/guide.sh $(TESTS)/fovea
	# The longest first, so that none is left over.
	tools/test-parts.sh '$(MAKE)' test-modules test-phone test-rust test-arm test-python

# All but those of the modules, with the features that the whole workspace was built with.
test-rust:
	# One that fails must not hide what the others would say.
	$(CARGO) test --workspace --no-fail-fast --exclude fovea-tests

# Each boots a kernel with a module, or several. Named one by one, for of their package alone cargo would build other features.
MODULE_TESTS := $(shell sed -n '/^\[\[test\]\]/{n;s/^name = "\(.*\)"/--test \1/p;}' proof/tests/Cargo.toml)
test-modules:
	$(CARGO) test --workspace --no-fail-fast $(MODULE_TESTS)

# The wheel in a fresh virtual environment. What is missing for it is named, and no failure.
test-python:
	lab/python/test.sh

# Daemon and guest as released, without the lab, whose dependencies are most of what there is to compile: in a profile of its own, so that
# neither takes the other's place. The host's side is the tests' build.
TEST_PHONE := target/$(TARGET)/phone

# What boots nothing and needs no desktop.
QUICK := apps client contract core daemon guest policy report scenario
test-quick: setup
	$(CARGO) test $(QUICK:%=-p fovea-%)

# FUZZ_SECONDS is the time of each target.
FUZZ_SECONDS ?= 600
test-deep: setup-tests
	crates/core/negative-controls.sh
	crates/core/sanitize.sh
	tools/fuzz.sh fuzz $(FUZZ_SECONDS)
	tools/fuzz.sh lab/fuzz $(FUZZ_SECONDS)
	FOVEA_PYTHON_RAY=1 lab/python/test.sh
	$(MAKE) --no-print-directory torture

# A user of the phone who attacks the daemon in every way at once (docs/design/threat-model.md).
SOAK_MINUTES ?= 60
soak: setup-tests fetch
	$(CARGO) build --profile phone -p fovea -p fovea-guest --no-default-features
	FOVEA_GUEST_DIR=$(CURDIR)/$(TEST_PHONE) FOVEA_PHONES=required FOVEA_SOAK_SECONDS=$$((60 * $(SOAK_MINUTES))) \
		$(CARGO) test --workspace --test soak_phone -- --nocapture --include-ignored

# DEBIAN_RUN is what is done in each, if not the usual: DEBIAN_RUN='make demo'.
DEBIAN_SUITES ?= bookworm trixie
test-debian:
	FOVEA_DEBIAN_RUN="$(DEBIAN_RUN)" tools/debian.sh $(DEBIAN_SUITES)

test-packages:
	tools/debian-packages.sh $(DEBIAN_SUITES)

# Full length: the figures of docs/, those of the lab with five seeds. Two hours on two cores. Whatever falls short, the page is made, and says so; a verdict of
# the phone's that fails then fails the target. Those of `lab reproduce` do not: some claims are known not to be repeated (docs/results/lab.md).
BENCH_RESULTS := results/lowmem.json results/workload.json results/ecache.json results/mapcache.json results/disk.json results/net.json results/desktop.json results/outsiders.json results/reproduce.json
bench: setup whole
	@mkdir -p results
	@rm -f $(BENCH_RESULTS)
	$(CARGO) bench -p fovea-policy
	$(CARGO) bench -p fovea-core
	status=0; \
	$(FOVEA) phone run lowmem rounds=5 --exact --json results/lowmem.json --picture results/lowmem.svg || status=1; \
	$(FOVEA) phone run workload --exact --json results/workload.json --picture results/workload.svg || status=1; \
	$(FOVEA) phone run ecache --exact --json results/ecache.json || status=1; \
	$(FOVEA) phone run mapcache --exact --json results/mapcache.json || status=1; \
	$(FOVEA) phone run disk --exact --json results/disk.json || status=1; \
	$(FOVEA) phone run net --exact --json results/net.json || status=1; \
	$(FOVEA) phone run desktop --exact --json results/desktop.json --picture results/desktop.svg || status=1; \
	$(FOVEA) phone run outsiders --exact --json results/outsiders.json || status=1; \
	$(FOVEA) lab reproduce --json results/reproduce.json || [ -s results/reproduce.json ] || status=1; \
	$(FOVEA) lab report --saved --results results -o results/report.html || status=1; \
	exit $$status

# Scores of processes that fork, with as many forks as a day's; `make test` has a short one. As root.
test-scores: setup-tests
	FOVEA_TEST_FORKS=10000 $(CARGO) test --workspace --test scores -- --nocapture

# The long torture test; `make test` has a short one, and the modules that must fail it. Another seed is another test.
TORTURE_SEED ?= 1
torture: setup fetch
	FOVEA_TORTURE_OPERATIONS=1000000 FOVEA_TORTURE_SEQUENCES=10000 FOVEA_TORTURE_SEED=$(TORTURE_SEED) \
		FOVEA_TORTURE_LOGS=$(CURDIR)/results/torture \
		$(CARGO) test --release -p fovea-tests --test ecache_torture -- --nocapture --include-ignored no_block_is_ever_wrong the_torture_itself copies_take_long interrupts_off readers_seldom
	$(CARGO) test --release -p fovea-tests --test ecache_power -- --nocapture --include-ignored
	FOVEA_TEST_KERNEL_ARGS="slab_debug=FZPU kfence.sample_interval=20 preempt=full" \
		FOVEA_TORTURE_OPERATIONS=100000 FOVEA_TORTURE_SEQUENCES=1000 FOVEA_TORTURE_SEED=$(TORTURE_SEED) \
		FOVEA_TORTURE_LOGS=$(CURDIR)/results/torture-slab \
		$(CARGO) test --release -p fovea-tests --test ecache_torture -- --nocapture no_block_is_ever_wrong

# KASAN, lockdep, DEBUG_VM, DEBUG_OBJECTS, kmemleak, and faults on purpose; then the states of power, with the steps that pm_test stops at.
TORTURE_DEBUG_OPERATIONS ?= 100000
torture-debug: setup fetch
	@sh tools/setup.sh debug-kernel
	$(CARGO) run --release --quiet -p fovea-phone --example fetch -- --debug
	FOVEA_TEST_KERNEL=debug FOVEA_TORTURE_OPERATIONS=$(TORTURE_DEBUG_OPERATIONS) FOVEA_TORTURE_SEED=$(TORTURE_SEED) \
		FOVEA_TORTURE_LOGS=$(CURDIR)/results/torture-debug \
		$(CARGO) test --release -p fovea-tests --test ecache_torture -- --nocapture --include-ignored no_block_is_ever_wrong the_torture_itself
	FOVEA_TEST_KERNEL=debug FOVEA_POWER_LOGS=$(CURDIR)/results/power-debug \
		$(CARGO) test --release -p fovea-tests --test ecache_power -- --nocapture --include-ignored no_block_is_wrong_after_sleep sleep_itself
	FOVEA_TEST_KERNEL=debug FOVEA_ACIOM_LOGS=$(CURDIR)/results/torture-aciom-debug \
		$(CARGO) test --release -p fovea-tests --test aciom -- --nocapture --include-ignored no_block_is

# All cases; `make test` has a short list. FILESYSTEMS_CASES=xfs-4k,fsx-xfs are some.
FILESYSTEMS_CASES ?= all
# How long random operations go on, on each of two file systems.
FILESYSTEMS_MINUTES ?= 30
torture-fs: setup-tests fetch
	FOVEA_FILESYSTEMS_CASES=$(FILESYSTEMS_CASES) FOVEA_FILESYSTEMS_OPERATIONS=4000 FOVEA_FILESYSTEMS_ROUNDS=100 \
		FOVEA_FILESYSTEMS_LOGS=$(CURDIR)/results/torture-fs \
		$(CARGO) test --release -p fovea-tests --test ecache_filesystems -- --nocapture --include-ignored
	FOVEA_FILESYSTEMS_CASES=fsx-ext4-4k,fsx-xfs FOVEA_FILESYSTEMS_SECONDS=$$(($(FILESYSTEMS_MINUTES) * 60)) FOVEA_FILESYSTEMS_LOGS=$(CURDIR)/results/torture-fs-long \
		$(CARGO) test --release -p fovea-tests --test ecache_filesystems -- --nocapture every_file_system
	@sh tools/setup.sh tests-pc
	FOVEA_TEST_KERNEL=pc FOVEA_FILESYSTEMS_CASES=ext4-4k,xfs-4k,pc FOVEA_FILESYSTEMS_OPERATIONS=4000 FOVEA_FILESYSTEMS_LOGS=$(CURDIR)/results/torture-fs-pc \
		$(CARGO) test --release -p fovea-tests --test ecache_filesystems -- --nocapture every_file_system

# The tests' build: what takes time is the guest's kernel.
torture-heap: setup-tests fetch
	FOVEA_MAPCACHE_OPERATIONS=1000000 FOVEA_MAPCACHE_LOGS=$(CURDIR)/results/torture-heap \
		$(CARGO) test -p fovea-tests --test mapping_cache -- --nocapture --include-ignored
	# Importers that are the kernel's own.
	FOVEA_TEST_KERNEL=pc FOVEA_MAPCACHE_LOGS=$(CURDIR)/results/torture-heap-pc \
		$(CARGO) test -p fovea-tests --test mapping_cache -- --nocapture --include-ignored importers_of_the_kernels_own

torture-aciom: setup-tests fetch
	FOVEA_ACIOM_SECONDS=120 FOVEA_ACIOM_LOGS=$(CURDIR)/results/torture-aciom \
		$(CARGO) test --release -p fovea-tests --test aciom -- --nocapture --include-ignored no_block_is no_file_is
	# Root and swap on it, by Debian's initramfs. As root, with mmdebstrap.
	@sh tools/root-on-aciom.sh

# XFSTESTS is a checkout of it.
XFSTESTS ?= ../xfstests-dev
xfstests: setup-tests fetch
	programs=$$(sh tools/xfstests.sh "$(XFSTESTS)") && \
		FOVEA_XFSTESTS=$$programs FOVEA_FILESYSTEMS_CASES=xfstests FOVEA_FILESYSTEMS_OPERATIONS=20000 FOVEA_FILESYSTEMS_LOGS=$(CURDIR)/results/xfstests \
		$(CARGO) test --release -p fovea-tests --test ecache_filesystems -- --nocapture --include-ignored every_file_system no_false_alarm

# Each line of kernels that DKMS builds for (kmod/kernels.txt), or those that TORTURE_KERNELS names as the tests do: 6.1, stock, newest. One that has passed
# is entered there.
TORTURE_KERNELS ?= $(shell sed -n 's/^[0-9][0-9.]*[[:space:]]*\([^[:space:]]*\).*/\1/p' kmod/kernels.txt)
torture-kernels: setup-tests fetch
	for kernel in $(TORTURE_KERNELS); do \
		FOVEA_TEST_KERNEL=$$kernel FOVEA_TORTURE_SEED=$(TORTURE_SEED) FOVEA_TORTURE_LOGS=$(CURDIR)/results/torture-$$kernel \
			$(CARGO) test --release -p fovea-tests --test ecache_torture -- --nocapture no_block_is_ever_wrong frames_fault || exit 1; \
		FOVEA_TEST_KERNEL=$$kernel FOVEA_FILESYSTEMS_LOGS=$(CURDIR)/results/torture-fs-$$kernel \
			$(CARGO) test --release -p fovea-tests --test ecache_filesystems -- --nocapture every_file_system what_was_wrong_once || exit 1; \
		FOVEA_TEST_KERNEL=$$kernel FOVEA_FILESYSTEMS_CASES=unmarked-ext4,unmarked-xfs,unmarked-btrfs FOVEA_FILESYSTEMS_LOGS=$(CURDIR)/results/torture-fs-$$kernel \
			$(CARGO) test --release -p fovea-tests --test ecache_filesystems -- --nocapture every_file_system || exit 1; \
	done

torture-6.1: setup-tests fetch
	$(MAKE) --no-print-directory torture-kernels TORTURE_KERNELS=6.1
	FOVEA_TEST_KERNEL=6.1 FOVEA_ACIOM_LOGS=$(CURDIR)/results/torture-aciom-6.1 \
		$(CARGO) test --release -p fovea-tests --test aciom -- --nocapture --include-ignored no_block_is no_file_is

kernels: setup
	@sh tools/kernels.sh

# Builds nothing: root may have no cargo. What runs already goes on with what is new.
install: install-small install-extra
	@[ -x $(FOVEA) ] || { echo "the phone and the lab are not built: run make build first, as yourself" >&2; exit 1; }
	# The whole program, which the small one runs for `fovea phone|trace|lab`.
	install -m 755 $(FOVEA) $(DESTDIR)$(PREFIX)/lib/fovea/fovea-lab
	install -m 755 $(RELEASE)/fovea-guest $(DESTDIR)$(PREFIX)/lib/fovea/
	# For cache policies of one's own, with an example: docs/guide/lab-policies.md.
	install -m 644 lib/policy/fovea-policy.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 lib/policy/clock.c $(DESTDIR)$(PREFIX)/share/doc/fovea/
	# What versions before fovea-lab left here.
	rm -f $(DESTDIR)$(PREFIX)/lib/fovea/fovea
	$(call install-modules,$(DESTDIR)$(PREFIX)/share/fovea/src)

# What the small program runs for `fovea top|metrics|prefetch`, and fovea-bus, with units, and a dashboard for monitors. The bus and polkit read
# what is below /usr only.
EXTRA := fovea-top fovea-metrics fovea-bus fovea-prefetch
install-extra: install-small
	@for p in $(EXTRA); do [ -x $(RELEASE)/$$p ] || { echo "$$p is not built: run make build (or make extra) first, as yourself" >&2; exit 1; }; done
	install -m 755 $(RELEASE)/fovea-top $(RELEASE)/fovea-metrics $(RELEASE)/fovea-bus $(DESTDIR)$(PREFIX)/lib/fovea/
	install -m 755 $(RELEASE)/fovea-prefetch $(DESTDIR)$(PREFIX)/bin/
	for u in packaging/metrics/* packaging/prefetch/*; do sed 's|/usr/local/bin|$(PREFIX)/bin|g' $$u >$(DESTDIR)$(PREFIX)/lib/systemd/system/$${u##*/}; done
	sed 's|/usr/local|$(PREFIX)|g' packaging/bus/fovea-bus.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/fovea-bus.service
	install -D -m 644 packaging/bus/fovea-bus.sysusers $(DESTDIR)/usr/lib/sysusers.d/fovea-bus.conf
	install -D -m 644 packaging/bus/org.fovea1.conf $(DESTDIR)/usr/share/dbus-1/system.d/org.fovea1.conf
	install -D -m 644 packaging/bus/org.fovea1.xml $(DESTDIR)/usr/share/dbus-1/interfaces/org.fovea1.xml
	install -D -m 644 packaging/bus/org.fovea1.policy $(DESTDIR)/usr/share/polkit-1/actions/org.fovea1.policy
	@[ -n "$(DESTDIR)" ] || ! command -v systemd-sysusers >/dev/null 2>&1 || systemd-sysusers /usr/lib/sysusers.d/fovea-bus.conf
	install -D -m 644 packaging/grafana/fovea.json $(DESTDIR)$(PREFIX)/share/fovea/grafana/fovea.json
	$(restart)

install-small:
	@[ -x $(SMALL) ] || { echo "$(SMALL) is not built: run make build (or make small) first, as yourself" >&2; exit 1; }
	@[ -f $(HEAP_LIBRARY)/libfovea-heap.so.0 ] || { echo "libfovea-heap is not built: run make build (or make heap-library) first, as yourself" >&2; exit 1; }
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 lib/heap/fovea-heap.h $(DESTDIR)$(PREFIX)/include/
	install -m 755 $(HEAP_LIBRARY)/libfovea-heap.so.0 $(DESTDIR)$(LIBDIR)/
	ln -sf libfovea-heap.so.0 $(DESTDIR)$(LIBDIR)/libfovea-heap.so
	install -m 644 $(HEAP_LIBRARY)/libfovea-heap.a $(DESTDIR)$(LIBDIR)/
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s/@VERSION@/$(VERSION)/' lib/heap/fovea-heap.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/fovea-heap.pc
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(SMALL) $(DESTDIR)$(PREFIX)/bin/fovea
	install -d $(DESTDIR)$(PREFIX)/share/doc/fovea $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/lib/systemd/user
	install -m 644 packaging/fovea.toml packaging/expert.toml README.md $(DESTDIR)$(PREFIX)/share/doc/fovea/
	$(call install-modules,$(DESTDIR)/usr/src/fovea-$(VERSION))
	tools/dkms-conf.sh $(VERSION) >$(DESTDIR)/usr/src/fovea-$(VERSION)/dkms.conf
	for u in packaging/*.service; do sed 's|/usr/local/bin|$(PREFIX)/bin|g; s|/usr/local/lib|$(PREFIX)/lib|g' $$u >$(DESTDIR)$(PREFIX)/lib/systemd/system/$${u#packaging/}; done
	# X servers and compositors have their sockets in /tmp as well.
	sed -e 's|/usr/local/bin|$(PREFIX)/bin|g' -e 's/^PrivateTmp=yes$$/PrivateTmp=no/' packaging/fovea-session@.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/fovea-auto@.service
	# Wherever the daemon is started, the login manager is heard: whether somebody is there, and who keeps the machine awake.
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system/fovea.service.wants
	ln -sf ../fovea-source@.service $(DESTDIR)$(PREFIX)/lib/systemd/system/fovea.service.wants/fovea-source@logind.service
	# What was enabled by its old name goes on.
	ln -sf fovea-source@.service $(DESTDIR)$(PREFIX)/lib/systemd/system/fovea-watch@.service
	rm -f $(DESTDIR)$(PREFIX)/lib/systemd/system/fovea.service.wants/fovea-watch@logind.service
	for s in kde gnome; do cp $(DESTDIR)$(PREFIX)/lib/systemd/system/fovea-session@.service $(DESTDIR)$(PREFIX)/lib/systemd/system/fovea-$$s@.service; done
	for v in before-45 since-45; do \
		install -d $(DESTDIR)$(PREFIX)/share/fovea/gnome-shell/$$v && \
		install -m 644 packaging/gnome-shell/metadata.json $(DESTDIR)$(PREFIX)/share/fovea/gnome-shell/$$v/ && \
		cat packaging/gnome-shell/$$v.js packaging/gnome-shell/windows.js >$(DESTDIR)$(PREFIX)/share/fovea/gnome-shell/$$v/extension.js || exit 1; \
	done
	for u in packaging/user/*.service; do sed 's|/usr/local/bin|$(PREFIX)/bin|g' $$u >$(DESTDIR)$(PREFIX)/lib/systemd/user/$${u##*/}; done
	install -D -m 644 packaging/user@.service.d/fovea.conf $(DESTDIR)$(PREFIX)/lib/systemd/system/user@.service.d/fovea.conf
	install -D -m 644 packaging/udev/60-fovea.rules $(DESTDIR)$(PREFIX)/lib/udev/rules.d/60-fovea.rules
	install -D -m 755 packaging/initramfs-tools/scripts/local-top/fovea-aciom $(DESTDIR)$(PREFIX)/lib/fovea/fovea-volumes
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system-generators
	sed 's|/usr/local/lib|$(PREFIX)/lib|g' packaging/systemd-generators/fovea-volumes-generator >$(DESTDIR)$(PREFIX)/lib/systemd/system-generators/fovea-volumes-generator
	chmod 755 $(DESTDIR)$(PREFIX)/lib/systemd/system-generators/fovea-volumes-generator
	for s in setup users; do \
		sed 's|/usr/local|$(PREFIX)|g' packaging/fovea-$$s >$(DESTDIR)$(PREFIX)/lib/fovea/fovea-$$s && \
		chmod 755 $(DESTDIR)$(PREFIX)/lib/fovea/fovea-$$s || exit 1; \
	done
	for p in man/*.[1457]; do \
		s=$${p##*.} && install -D -m 644 $$p $(DESTDIR)$(PREFIX)/share/man/man$$s/$${p#man/} || exit 1; \
	done
	install -D -m 644 packaging/completions/fovea.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/fovea
	install -D -m 644 packaging/completions/_fovea $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_fovea
	install -D -m 644 packaging/completions/fovea.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/fovea.fish
	for f in hooks/fovea-aciom scripts/local-top/fovea-aciom; do \
		install -D -m 755 packaging/initramfs-tools/$$f $(DESTDIR)/usr/share/initramfs-tools/$$f || exit 1; \
	done
	# The same for dracut and mkinitcpio, who look nowhere else.
	for f in packaging/dracut/90fovea/*.sh; do install -D -m 755 $$f $(DESTDIR)/usr/lib/dracut/modules.d/90fovea/$${f##*/} || exit 1; done
	install -m 755 packaging/initramfs-tools/scripts/local-top/fovea-aciom $(DESTDIR)/usr/lib/dracut/modules.d/90fovea/fovea-volumes
	for f in install hooks; do \
		install -d $(DESTDIR)/usr/lib/initcpio/$$f && \
		sed 's|/usr/local/lib|$(PREFIX)/lib|g' packaging/mkinitcpio/$$f/fovea >$(DESTDIR)/usr/lib/initcpio/$$f/fovea || exit 1; \
	done
	$(restart)

# Nothing runs on from a program that is gone. Not fovea-volumes: disks in use are on it.
restart = @[ -n "$(DESTDIR)" ] || [ ! -d /run/systemd/system ] || { systemctl daemon-reload; \
	for u in fovea fovea-bus fovea-prefetch $(patsubst %,'fovea-%@*',source session auto kde gnome); do systemctl try-restart "$$u" 2>/dev/null; done; \
	$(PREFIX)/lib/fovea/fovea-users restart; }

# What install would put there now goes, and the folders that are then empty; the configuration in /etc is its owner's. What runs is
# stopped first, so that nothing of it is left on the device, and what `fovea setup` did is undone.
uninstall:
	@[ -n "$(DESTDIR)" ] || [ ! -x $(PREFIX)/lib/fovea/fovea-setup ] || $(PREFIX)/lib/fovea/fovea-setup --undo || true
	@[ -n "$(DESTDIR)" ] || ! command -v systemctl >/dev/null 2>&1 || { \
		systemctl disable --now fovea fovea-volumes 2>/dev/null; systemctl stop 'fovea-*' 2>/dev/null; \
		systemctl --global disable fovea-kills 2>/dev/null; $(PREFIX)/lib/fovea/fovea-users stop 2>/dev/null; true; }
	@[ -n "$(DESTDIR)" ] || rm -rf /var/lib/fovea /run/fovea
	@[ -n "$(DESTDIR)" ] || ! command -v dkms >/dev/null 2>&1 || dkms remove fovea/$(VERSION) --all 2>/dev/null || true
	@tools/staged.sh uninstall '$(MAKE)' '$(DESTDIR)' '$(PREFIX)' '$(LIBDIR)'
	@[ -n "$(DESTDIR)" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload

KDIR ?= /lib/modules/$(shell uname -r)/build
modules:
	$(MAKE) -C kmod KDIR=$(KDIR) MODULES="heap ecache aciom"

modules_install:
	$(MAKE) -C kmod KDIR=$(KDIR) MODULES="heap ecache aciom" modules_install

# Two folders, one program: nobody has to trust whoever built it.
reproducible: needs-cargo
	@tools/reproducible.sh '$(MAKE)' '$(SMALL)'

# The kernel modules are built for the kernel at hand: by the virtual phone from share/fovea/src, by DKMS from /usr/src.
define install-modules
	install -d $(1)
	tar -c --exclude='*.o' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' --exclude='.*' kmod core | tar -x -C $(1) --no-same-owner
endef

setup:
	@sh tools/setup.sh

# Besides, the file systems and desktops that the tests need.
setup-tests:
	@sh tools/setup.sh tests

build: whole small

# Builds install nothing: whoever builds packages has no network and no rights.
needs-cargo:
	@command -v $(CARGO) >/dev/null 2>&1 || { echo "$(CARGO) is missing; install Rust 1.85 or newer: https://rustup.rs, or apt-get install cargo on Debian 13" >&2; exit 3; }

# No folder of the machine that builds stands in the programs.
REMAP := "--remap-path-prefix=$(CURDIR)=/fovea","--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo"

whole: needs-cargo
	$(CARGO) build --release -p fovea -p fovea-guest $(EXTRA:%=-p %) $(CARGO_FLAGS) $(LINKED) --config 'target.$(TARGET).rustflags=[$(REMAP)]'

extra: needs-cargo
	$(CARGO) build --release $(EXTRA:%=-p %) $(CARGO_FLAGS) $(LINKED) --config 'target.$(TARGET).rustflags=[$(REMAP)]'

comma := ,
# Has a profile, and so a folder, of its own: else it and the whole program would take each other's place.
# Nothing unwinds in it (Cargo.toml: it aborts), so the tables for that, a tenth of it, are left out when it is linked. Its 4,400 addresses that
# depend on where it is loaded are told by a bit each, not by 24 bytes, where the linker can (binutils of Debian 12: x86-64 alone).
PACKED := $(if $(filter x86_64-%-gnu,$(TARGET)),"-C"$(comma)"link-arg=-Wl$(comma)-z$(comma)pack-relative-relocs"$(comma))
# Functions that have become the same are kept once, where the linker can: the one that rustc brings and takes from 1.90 on.
LLD := $(wildcard $(shell $(RUSTC) --print sysroot 2>/dev/null)/lib/rustlib/$(TARGET)/bin/gcc-ld/ld.lld)
FOLDED := $(if $(and $(filter x86_64-unknown-linux-gnu,$(TARGET)),$(LLD),$(shell $(RUSTC) -V 2>/dev/null | awk -F'[ .]' '$$3 >= 90')),"-C"$(comma)"link-arg=-Wl$(comma)--icf=all"$(comma))
# The kernel's zstd at level 3, which pages are judged by, never goes beyond "double fast"; what it would go to is a thirtieth of the program.
ZSTD_LEFT_OUT := $(patsubst %,-DZSTD_EXCLUDE_%_BLOCK_COMPRESSOR,GREEDY LAZY LAZY2 BTLAZY2 BTOPT BTULTRA)
small: export CFLAGS := $(CFLAGS) $(ZSTD_LEFT_OUT)
small: needs-cargo heap-library
	$(CARGO) build --profile small -p fovea --no-default-features $(CARGO_FLAGS) $(LINKED) --config 'target.$(TARGET).rustflags=[$(REMAP),"-C","link-arg=-Wl,--no-eh-frame-hdr",$(FOLDED)$(PACKED)"-C","link-arg=-Wl,-T,$(CURDIR)/crates/fovea/small.ld"]'
	@size=$$(stat -c %s $(SMALL)); echo "$(SMALL): $$size bytes of at most $(SMALL_BYTES_MAX)"; \
	[ $$size -le $(SMALL_BYTES_MAX) ] || echo "warning: that is too large; older compilers make it larger, and a release must not be (make release-check)" >&2

heap-library: $(HEAP_LIBRARY)/libfovea-heap.so.0 $(HEAP_LIBRARY)/libfovea-heap.a

$(HEAP_LIBRARY)/heap.o: lib/heap/heap.c lib/heap/fovea-heap.h kmod/include/fovea-heap.h
	@mkdir -p $(HEAP_LIBRARY)
	$(HEAP_CC) -std=c11 -O2 $(HEAP_CFLAGS) -fPIC -pthread -Wall -Wextra -c -o $@ $<

$(HEAP_LIBRARY)/libfovea-heap.so.0: $(HEAP_LIBRARY)/heap.o
	$(HEAP_CC) -shared $(HEAP_LDFLAGS) -pthread -Wl,-soname,libfovea-heap.so.0 -o $@ $<

$(HEAP_LIBRARY)/libfovea-heap.a: $(HEAP_LIBRARY)/heap.o
	$(HEAP_AR) rcs $@ $<

# The kernel, so that tests which boot it are not skipped.
fetch: setup
	$(CARGO) run --quiet -p fovea-phone --example fetch

# Each ends with exit code 1 when a verdict fails.
test-phone: export FOVEA_GUEST_DIR := $(CURDIR)/$(TEST_PHONE)
test-phone: FOVEA := $(TESTS)/fovea
test-phone: setup
	@mkdir -p results
	$(CARGO) test --profile phone -p fovea --no-default-features --test second
	$(CARGO) build --profile phone -p fovea -p fovea-guest --no-default-features
	$(CARGO) test --workspace --no-run
	$(FOVEA) phone run lowmem rounds=1 --exact --results results/test --json results/test-lowmem.json
	$(FOVEA) phone run ecache cases=HM launches=16 'traced=[]' configurations=ecache,migrate --exact --results results/test
	printf '%s\n' 'monkey events=120 kills=3' 'leak cases=outside configurations=fovea --exact' 'outsiders cases=$(TEST_OUTSIDERS) configurations=fovea --exact' \
		'leak cases=front configurations=kernel,earlyoom,fovea --exact' $(TEST_SCENARIOS) | xargs -P 2 -I@ sh -c '$(FOVEA) phone run @ --results results/test'
	$(CARGO) test --workspace --test heap_phone -- --ignored
	tools/same-twice.sh $(FOVEA) results/twice

# The device-tree binding, by dt-schema.
binding:
	@sh tools/binding.sh

# Programs for the guest of a machine that is not this one's.
MACHINE ?= virt-arm64
GUEST_TARGET := $(if $(filter virt-armhf,$(MACHINE)),armv7-unknown-linux-gnueabihf,aarch64-unknown-linux-gnu)
guest:
	@sh tools/setup.sh arm $(GUEST_TARGET)
	$(CARGO) build --profile phone -p fovea -p fovea-guest --no-default-features --target $(GUEST_TARGET) \
		--config 'target.$(GUEST_TARGET).linker="$(CROSS_$(GUEST_TARGET))"'

# The daemon on Debian's arm64 kernels. A machine that cannot have compilers for them is told so, and that is no failure.
test-arm:
	@sh tools/setup.sh arm aarch64-unknown-linux-gnu || { echo "left out: tests on ARM, whose compilers could not be had (above)" >&2; exit 0; }; \
	$(MAKE) --no-print-directory guest && $(CARGO) test --workspace --test arm_phone -- --ignored

# Part of the tree, so that whoever installs or packages needs none of this.
man:
	$(CARGO) run --quiet -p fovea-manual $(CARGO_FLAGS) -- .

# For the Debian at hand: packaging/debian.
package-deb:
	@tools/package-deb.sh '$(MAKE)'

# Has git check the messages of your commits.
hooks:
	git config core.hooksPath tools/hooks

# A file can be read at one sitting.
FILE_LINES_MAX := 400
check-style:
	@sh tools/hooks/try.sh
	@find $(wildcard core crates fuzz kmod lab lib proof tools) -name target -prune -o -type f -name '*.[chs]' -print -o -name '*.rs' -print -o -name '*.py' -print -o -name '*.sh' -print | \
		xargs awk 'FNR == $(FILE_LINES_MAX) + 1 { print FILENAME ": over $(FILE_LINES_MAX) lines; part it"; bad = 1 } END { exit bad }'
	@$(call needs-tool,fmt,rustfmt) && $(CARGO) fmt --all --check && cd lab/python && $(CARGO) fmt --check
	@$(call needs-tool,clippy,clippy) && $(CARGO) clippy --workspace --all-targets -- -D warnings
	@tools/reuse.sh
	@tools/docs.sh
	@MAKE='$(MAKE)' tools/recipes.sh
	@tools/test-volumes.sh

# rustup's minimal profile and Debian's cargo have neither rustfmt nor clippy: skipped here, a failure
# where CI is set, for a check that may be skipped holds nobody to anything.
define needs-tool
	{ $(CARGO) $(1) --version >/dev/null 2>&1 || { [ -z "$$CI" ] || { echo "check-style: $(2) is missing; rustup component add $(2), or apt-get install $(if $(filter clippy,$(2)),rust-clippy,$(2))" >&2; exit 1; }; echo "$(2): skipped, not installed"; exit 0; }; }
endef

# What is to be done before a release, each step checked as far as a program can.
release-check: check-style small
	@tools/release-check.sh '$(VERSION)' '$(SMALL)' $(SMALL_BYTES_MAX)

clean:
	$(CARGO) clean
	rm -rf results
