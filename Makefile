# make bench   an honest comparison of nginx and Caddy on this machine, in minutes
# make bench-all   gets every server that can be had here, and measures each at everything, briefly
# make quick   what an edit may have broken: layout, lints, rules, unit tests, invented campaigns
# make test    everything that guards a landing
# make night   what takes long: fuzzing, kills, the self-test, simulated campaigns, several hosts
# Both install what they need and do not find: see tests/programs.sh.

CARGO ?= cargo
PROGRAMS := $(CURDIR)/.bench/programs
PAGE := web/dist/index.html
PAGE_SOURCES := docs/schema/report.schema.json $(shell find web -path web/node_modules -prune \
    -o -path web/dist -prune -o -path web/made -prune -o -type f -print)
BAKEOFF := target/work/bakeoff
DEBUG := $(or $(CARGO_TARGET_DIR),target)/debug/bakeoff
RUN = BAKEOFF_PROGRAMS="$(PROGRAMS)"

.PHONY: beside-tests bench bench-all build built-servers check clean compiled deny dist \
    experiments-site fuzz kills lint-workflows macos msrv night package page programs quick \
    run-tests selftest site stats-check test test-page test-rust

bench: build
	@BAKEOFF_PROGRAMS="$(PROGRAMS)" BAKEOFF="$(BAKEOFF)" tests/programs.sh nginx caddy
	@$(RUN) $(BAKEOFF) run quick; ended=$$?; \
	    echo 'for `bakeoff` as above: export PATH="$(CURDIR)/target/work:$$PATH" $(RUN)' >&2; \
	    exit $$ended

# Into the user's cache, beside what is there; what cannot be had here is said and left out.
bench-all: build
	-$(BAKEOFF) install --all
	-$(BAKEOFF) install caddy@2.8.4 caddy@2.11.7 nginx@1.28
	$(BAKEOFF) list
	$(BAKEOFF) run matrix --duration 2s --rounds 1

build: $(PAGE)
	$(CARGO) build --profile work --locked -p bakeoff

page: $(PAGE)

$(PAGE): $(PAGE_SOURCES)
	@tests/programs.sh node-modules
	cd web && npm run --silent build
	@touch $@

# An edit's tests: 90 s. Nothing here needs a server.
quick:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(RUN) CARGO="$(CARGO)" tests/run.py --quick

# Downloads run beside the compiler. Tests mostly wait, for a server or for time to pass, so that
# what takes a processor runs beside them, with the lowest priority.
BUILT := target/tests.json
test:
	@$(CARGO) fmt --all --check
	@$(MAKE) --no-print-directory -j 2 programs compiled
	@$(MAKE) --no-print-directory built-servers
	@$(MAKE) --no-print-directory -j 2 run-tests beside-tests
	@$(MAKE) --no-print-directory test-page

# Chromium is not among them: it takes both processors, and its tests would wait too long.
beside-tests:
	@nice -n 19 $(MAKE) --no-print-directory check deny lint-workflows package site experiments-site \
	    instructions

# What takes longer than a landing may: hours.
night: build kills selftest stats-check
	PROPTEST_CASES=2500 $(MAKE) --no-print-directory test-rust RUN_FLAGS=--once
	$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=600
	$(MAKE) --no-print-directory perf-tools
	python3 -B perf/hosts.py

compiled: $(PAGE)
	CARGO="$(CARGO)" tests/run.py --build $(BUILT)

built-servers:
	@$(RUN) BAKEOFF="$(DEBUG)" tests/programs.sh --after-build

# Says in its first minute what cannot be had here. Needs nothing that is compiled, so that it may
# run beside the compiler.
programs:
	@$(RUN) tests/programs.sh --for-tests

check: $(PAGE)
	python3 -B tests/programs_test.py
	python3 -B tests/run_test.py
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	cd web && npm run --silent check

# Licences, second versions and sources of the crates: deny.toml. tests/tidy checks most of it
# itself, so that a machine without cargo-deny checks it too.
deny:
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
	    $(CARGO) deny --locked check --hide-inclusion-graph licenses bans sources; \
	else \
	    echo "left out: cargo-deny is not installed; tests/tidy checks licences, versions, sources"; \
	fi

# Which of them run beside each other: tests/run.py and tests/e2e/support/turns.rs.
test-rust: $(PAGE)
	$(RUN) CARGO="$(CARGO)" tests/run.py $(RUN_FLAGS)

run-tests:
	$(RUN) CARGO="$(CARGO)" tests/run.py --built $(BUILT)

# Kills the program at random moments, in 20 ways, and looks for what is left.
kills: programs
	$(CARGO) build --locked --workspace --bins --examples
	$(RUN) python3 -B tests/kills.py "$(DEBUG)" --programs "$(PROGRAMS)/bin" --kills 200

test-page: $(PAGE)
	@tests/programs.sh chromium
	tests/report/run.sh

# A search for bytes that break a parser, with coverage: by stable flags, so that no other toolchain
# is needed. `make test` replays known and changed inputs through the same checks.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := $(filter-out lib main,$(basename $(notdir $(wildcard fuzz/src/*.rs))))
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_FLAGS := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cdebug-assertions -Coverflow-checks

fuzz:
	RUSTFLAGS="$(FUZZ_FLAGS)" $(CARGO) build --profile fuzz --locked -p bakeoff-fuzz \
	    --features search --target $(HOST)
	@printf '%s\n' $(FUZZ_TARGETS) | \
	    xargs -P "$$(nproc)" -n 1 fuzz/one.sh target/$(HOST)/fuzz/fuzz $(FUZZ_SECONDS)

# What the rules of comparisons claim, held against simulated campaigns: coverage of intervals,
# false winners, power. Prints the figures and fails beyond the limits; minutes.
stats-check:
	$(CARGO) test --release --locked -p bakeoff-stats --test it check -- \
	    --ignored --nocapture --test-threads 1

# Each crate as it would be published; `packaging/crates.sh verify` also compiles each on its own.
package: $(PAGE)
	@packaging/crates.sh

# Compiles everything with the oldest Rust that Cargo.toml promises: rustup toolchain install 1.88.
RUST_OLDEST := $(shell sed -n 's/^rust-version = "\(.*\)"$$/\1/p' Cargo.toml)
msrv:
	$(CARGO) +$(RUST_OLDEST) check --workspace --all-targets --locked --target-dir target/msrv

# Compiles for macOS what works there: the commands that explain. Nothing is linked, so that no SDK
# is needed.
MACOS_TARGETS := aarch64-apple-darwin x86_64-apple-darwin
macos: $(PAGE)
	rustup target add $(MACOS_TARGETS)
	RUSTFLAGS='-D warnings' $(CARGO) check --locked -p bakeoff --target-dir target/macos \
	    $(addprefix --target ,$(MACOS_TARGETS))

# What a release gives away, in target/packages: static programs, Debian packages, the sources with
# the page, lists of what is built in, checksums. Twice the same bytes. arm64 needs zig, see dist.sh.
DIST_TARGETS ?= x86_64-unknown-linux-musl
dist: $(PAGE)
	@packaging/release.sh $(DIST_TARGETS)

# The documentation as a site, in target/site/site, with a reference written from the sources.
site:
	@tests/programs.sh mdbook
	$(CARGO) build --quiet --locked --workspace --bins --examples
	python3 -B docs/site.py "$(DEBUG)" .bench/mdbook/bin/mdbook \
	    target/site

# The published experiments as they were repeated, as pages in target/experiments.
experiments-site: $(PAGE)
	python3 -B docs/experiments/pages.py make $(PAGE) target/experiments

lint-workflows:
	@tests/programs.sh actionlint
	@if [ -x .bench/actionlint/actionlint ]; then \
	    .bench/actionlint/actionlint .github/workflows/*.yml; \
	else \
	    echo "left out: actionlint is not installed, and there is no Go to get it with"; \
	fi

# The judge judged: every fault five times, and 40 pairs of equal servers, on an idle machine; an
# hour at most. A part of `make test` is in tests/e2e/selftest.rs.
selftest: build
	$(BAKEOFF) selftest --format md --output docs/selftest.md

clean:
	$(CARGO) clean
	rm -rf web/dist web/node_modules .bench

# perf: the tool measured by itself, beside its peers, on two cores; see docs/performance.md.
#   make perf                                       all points and the truth tests, an hour or so
#   make perf PERF='--points open,truth --rounds 3' parts of it; --help lists what there is
#   make perf PERF_PEERS=oha                        with oha, compiled if it is not here
# instructions: what the engine spends on a request in user space, held below a budget.
PERF ?=
PERF_PEERS ?=
PERF_FOLDER := .bench/perf
PERF_TOOLS := $(addprefix $(PERF_FOLDER)/,delay floor launch spin)

.PHONY: instructions perf perf-tools

perf: perf-tools $(PAGE)
	$(CARGO) build --release --locked -p bakeoff
	@BAKEOFF_PROGRAMS="$(PROGRAMS)" tests/programs.sh nginx openssl wrk h2load ab $(PERF_PEERS)
	PATH="$(PROGRAMS)/bin:$$PATH" python3 -B perf/run.py $(PERF)

perf-tools: $(PERF_TOOLS)

.SECONDEXPANSION:
$(PERF_FOLDER)/%: perf/$$*/$$*.c perf/canned.h
	@tests/programs.sh cc
	@mkdir -p $(@D)
	cc -O2 -std=gnu17 -Wall -Wextra -Werror -o $@ $<

instructions:
	@tests/programs.sh valgrind
	$(CARGO) build --release --locked -p bakeoff-instructions
	perf/callgrind.sh
