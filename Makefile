# `make` alone prints the targets.
SHELL := /bin/bash
export CGO_ENABLED := 0
# The flags are the same everywhere, so that Go compiles each dependency once.
export GOFLAGS += -trimpath

BUILD := build
TRIXIE ?= /var/tmp/slurmflex/trixie
TESTING ?= /var/tmp/slurmflex/testing
BOOKWORM ?= /var/tmp/slurmflex/bookworm
KUBERNETES ?= /var/tmp/slurmflex/kubernetes

# The packages of the product that start goroutines, or serve several at once. make nightly adds all others, of which
# ./cmd/slurmflex starts hundreds of processes.
RACE ?= ./flex ./flex/apply ./flex/cost ./flex/estimate ./flex/history ./flex/leader ./flex/memory ./flex/metrics ./flex/observe ./flex/setup ./flex/terminal ./flex/wake ./flex/web ./mig/gce ./slurm/scontrol

# Tests of ./flex that make unit runs without the race detector.
LONG ?= ^Test(DeathAtAnyCall|DownCompletesAfterDeath|HundredJobsWait|ImportantJobStarts)

# What bench-compare compares, and with which version of benchstat.
BASE ?= HEAD
COUNT ?= 6
BENCHMARKS = go test -run '^$$' -bench . -benchmem -count $(COUNT) ./flex/...
BENCHSTAT := golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

.DEFAULT_GOAL := help
.NOTPARALLEL: # the targets share build/, and measure against the clock
.PHONY: help build packages release package-test test unit defects mutants e2e e2e-24.11 e2e-26.05 accounting-test gke-test web-test dashboard-test alerts-test foreign-test docs-check lint demo demo-gke play fuzz chaos soak nightly bench bench-compare clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build slurmflex, slurmflex-hook, slurmflex-trial and slurmflex-fakegce into build/
	go build -o $(BUILD)/ ./cmd/...

test: unit e2e e2e-26.05 defects web-test alerts-test foreign-test ## run all tests, on the oldest and the newest Slurm; installs 22.05 and sets up 26.05

unit: ## run the tests that need neither root nor Slurm; those of RACE, the packages that start goroutines, with the race detector
	RACE='$(RACE)' LONG='$(LONG)' scripts/unit

nightly: ## run what takes hours: all scenarios on three Slurms, every package with the race detector, 1,000 days of chaos, mutants, fuzzing, bench, soak
	E2E_ALL=1 $(MAKE) e2e e2e-24.11 e2e-26.05
	$(MAKE) gke-test
	scripts/setup-gcc
	RAPID_SEED=0 $(MAKE) unit RACE=./... LONG=
	$(MAKE) chaos SEEDS=1000
	$(MAKE) mutants
	$(MAKE) fuzz FUZZTIME=1m
	$(MAKE) bench
	$(MAKE) soak

defects: ## check that the tests of slurm-gcp's 30 defects and of the findings of trials passed in make unit and make e2e
	go run ./test/defects

mutants: ## plant deliberate bugs one by one, and see which test finds each; takes about five minutes
	go run ./test/mutants

e2e: build ## run the end-to-end tests on the machine's Slurm; installs it if it is missing
	scripts/setup-slurm
	scripts/e2e

e2e-24.11: build ## run the end-to-end tests on Slurm 24.11 in a Debian trixie of its own
	scripts/setup-slurm-root trixie $(TRIXIE)
	SLURM_ROOT=$(TRIXIE) scripts/e2e

e2e-26.05: build ## run the end-to-end tests on the Slurm of Debian testing, 26.05 or later, in a root folder of its own
	scripts/setup-slurm-root testing $(TESTING)
	SLURM_ROOT=$(TESTING) scripts/e2e

accounting-test: build ## run the end-to-end tests with slurmdbd and MariaDB; installs them and Slurm if they are missing
	scripts/setup-slurm
	set -o pipefail; scripts/e2e -test.run Accounting | sed 's/^e2e: Slurm [^:]*/accounting/'

gke-test: build ## run jobs on pods of a real Kubernetes, with and without a real Kueue; builds both and installs Slurm if they are missing
	scripts/setup-slurm
	scripts/setup-kubernetes $(KUBERNETES)
	E2E_KUBERNETES=$(KUBERNETES) scripts/e2e -test.run GKE -test.parallel 4

web-test: build ## open the daemon's page in a headless Chromium and the dashboard's queries in Prometheus; installs both and Slurm if they are missing
	scripts/setup-slurm
	scripts/setup-chromium
	scripts/setup-prometheus
	scripts/web-test

dashboard-test: build ## evaluate each query of the dashboard in a Prometheus that scrapes a busy cluster; installs it and Slurm if they are missing
	scripts/setup-slurm
	scripts/setup-prometheus
	scripts/web-test -test.run Dashboard

alerts-test: ## check the alert rules with promtool; installs it if it is missing
	scripts/setup-prometheus
	scripts/alerts-test

foreign-test: build ## walk through the fake Compute API with Google's Python client; installs python3-googleapi if it is missing
	scripts/setup-python3-googleapi
	scripts/foreign-test

docs-check: build ## check the docs: follow every link, run every command in a cluster; installs Slurm if it is missing
	scripts/setup-slurm
	go build -C test/tools -o ../../$(BUILD)/docs ./docs
	unshare --mount $(BUILD)/docs

packages: ## make the Debian package and the RPM, in build/
	scripts/package/build $(BUILD)

release: ## make what a release publishes, in build/release: packages, source archive, bills of materials, checksums
	scripts/release $(BUILD)/release

package-test: build ## install, use, upgrade and remove the packages in a Debian 12 of its own
	scripts/setup-debian-12 $(BOOKWORM)
	timeout 10m scripts/package/trial $(BOOKWORM)

lint: ## check format, vet, static analysis and shell scripts
	scripts/lint

demo: ## run the main job: real Slurm, fake Compute, one sbatch; installs Slurm if it is missing
	@echo 'demo: builds slurmflex (the first time some minutes, with downloads of Go modules), installs Slurm from Debian if it is missing (a minute'
	@echo 'demo: or two), and runs one job on a private Slurm and a fake Compute API (about 40 seconds). Nothing stays but the packages.'
	@$(MAKE) --no-print-directory build
	scripts/setup-slurm
	go build -o $(BUILD)/demo ./test/demo
	$(BUILD)/demo

demo-gke: build ## run the main job on pods of a stand-in for a GKE cluster, through the gateway; installs Slurm if it is missing
	scripts/setup-slurm
	go build -C mig/gke -o ../../$(BUILD)/ ./slurmflex-gke ./slurmflex-fakegke
	go build -o $(BUILD)/demo ./test/demo
	$(BUILD)/demo --gke

play: build ## keep a cluster with the fake Compute API running, to try things by hand
	scripts/setup-slurm
	go build -o $(BUILD)/play ./test/play
	$(BUILD)/play

fuzz: ## fuzz every parser for FUZZTIME (10s) each
	scripts/fuzz $${FUZZTIME:-10s}

chaos: ## live through SEEDS (200) days in which everything fails, from FIRST (1) on
	@go test -c -o $(BUILD)/chaos ./test/chaos
	@set -o pipefail; GOGC=400 $(BUILD)/chaos -test.run '^TestChaos$$' -test.timeout 2h -seeds $${SEEDS:-200} -first $${FIRST:-1} | grep -vE '^ *(PASS|FAIL|--- FAIL: .*)$$'

soak: build ## let the daemon live through days of a minute for SOAK (1h) and see that memory, goroutines and open files stay flat
	go build -o $(BUILD)/ ./test/load
	$(BUILD)/load soak --build $(BUILD) --for $${SOAK:-1h}

bench: build ## measure slurmflex against its targets; takes a quarter of an hour; installs Slurm if it is missing
	scripts/setup-slurm
	go build -o $(BUILD)/ ./test/load
	$(BUILD)/load bench --build $(BUILD)

bench-compare: ## compare the Go benchmarks with those of revision BASE (HEAD), COUNT (6) runs of each
	@mkdir -p $(BUILD)
	@set -e; git worktree add --force --detach $(BUILD)/base $(BASE); \
	trap 'git worktree remove --force $(BUILD)/base' EXIT; \
	(cd $(BUILD)/base && $(BENCHMARKS)) >$(BUILD)/base.txt; \
	$(BENCHMARKS) >$(BUILD)/new.txt; \
	go run $(BENCHSTAT) base=$(BUILD)/base.txt new=$(BUILD)/new.txt

clean: ## remove what was built
	rm -rf $(BUILD)
