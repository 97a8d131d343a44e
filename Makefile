# `make` alone prints the targets.
SHELL := /bin/bash
export CGO_ENABLED := 0

BUILD := $(CURDIR)/build
TRIXIE ?= /var/tmp/slurmflex/trixie

.DEFAULT_GOAL := help
.PHONY: help build test unit defects e2e e2e-24.11 lint demo play fuzz clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build slurmflex and slurmflex-fakegce into build/
	go build -trimpath -o $(BUILD)/ ./cmd/...

test: unit defects e2e e2e-24.11 ## run all tests; installs Slurm 22.05 and sets up 24.11

unit: ## run the tests that need neither root nor Slurm
	go test ./...

defects: ## run the tests that show slurm-gcp's 30 defects to be right here
	go run ./test/defects

e2e: build ## run the end-to-end tests on the machine's Slurm; installs it if it is missing
	scripts/setup-slurm
	scripts/e2e

e2e-24.11: build ## run the end-to-end tests on Slurm 24.11 in a Debian trixie of its own
	scripts/setup-slurm-24.11 $(TRIXIE)
	SLURM_ROOT=$(TRIXIE) scripts/e2e

lint: ## check format, vet, static analysis and shell scripts
	scripts/lint

demo: build ## run the main job: real Slurm, fake Compute, one sbatch; installs Slurm if it is missing
	scripts/setup-slurm
	go build -trimpath -o $(BUILD)/demo ./test/demo
	$(BUILD)/demo

play: build ## keep a cluster with the fake Compute API running, to try things by hand
	scripts/setup-slurm
	go build -trimpath -o $(BUILD)/play ./test/play
	$(BUILD)/play

fuzz: ## fuzz every parser for FUZZTIME (10s) each
	scripts/fuzz $${FUZZTIME:-10s}

clean: ## remove what was built
	rm -rf $(BUILD)
