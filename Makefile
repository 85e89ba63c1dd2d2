# EchoBench's front door: every target is one command of the project's own Python, run in the project's own environment.

SCENARIO ?= default
SIM ?=
SEED ?=
PEER ?=
WAVES ?=
OUTPUT ?=
TESTS ?= tests
FAULT_CASES ?= 2000
FAULT_FIRST ?= 1
FAULT_SEED ?=
FAULTS ?= link engine
PROOF ?=
PROGRAM ?=

PYTHON := .venv/bin/python
RUN_OPTIONS := $(if $(SIM),--simulator $(SIM)) $(if $(SEED),--seed $(SEED)) $(if $(PEER),--peer $(PEER)) $(if $(OUTPUT),--output $(OUTPUT)) $(if $(WAVES),$(if $(filter 0,$(WAVES)),--no-waves,--waves))
FAULT_OPTIONS := $(if $(FAULT_SEED),FAULT_SEED=$(FAULT_SEED),FAULT_CASES=$(FAULT_CASES) FAULT_FIRST=$(FAULT_FIRST))

FAULTS_UNKNOWN := $(filter-out link engine,$(FAULTS))$(if $(strip $(FAULTS)),,nothing)
FAULT_TESTS := $(if $(filter link,$(FAULTS)),tests/hdl/jesd204b/test_jesd204b_campaign.py) $(if $(filter engine,$(FAULTS)),tests/hdl/ernic_fuzz/test_ernic_fuzz.py)

ifneq (,$(filter-out 0 1,$(WAVES)))
$(error WAVES=$(WAVES): allowed 0 (never), 1 (the whole run); without it, a failure is recorded by repeating the run)
endif

.DEFAULT_GOAL := help
.PHONY: help setup sim monitor waves test test-faults programs formal lint bench synth registers clean

help: ## list the targets and variables
	@echo "EchoBench: RTL of an RDMA ultrasound front end against a real verbs stack."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  SCENARIO=name|path.toml   what to run (default: default; in sim/scenarios/)"
	@echo "  SIM=verilator|icarus      simulator, instead of the scenario's"
	@echo "  SEED=n                    seed, instead of the scenario's"
	@echo "  PEER=auto|vm|host|model   peer, instead of the scenario's"
	@echo "  WAVES=1|0                 record a waveform (FST) of the whole run, or never; else only of a failure"
	@echo "  OUTPUT=folder             where the run goes (default: build/runs/<scenario>)"
	@echo "  FAULT_CASES=n             cases of 'make test-faults' (default: 2000); FAULT_SEED=n the one to repeat; FAULTS=link|engine one kind"
	@echo "  PROGRAM=name              what 'make programs' runs (default: all)"
	@echo "  PROOF=name                what 'make formal' runs (default: all proofs)"
	@echo "  TESTS=path                what 'make test' runs (default: tests)"

setup: ## install what is missing: Debian packages (as root) and the Python environment
	@python3 sim/bootstrap.py

sim: setup ## run a scenario and report: build/runs/<scenario>/report.html
	@$(PYTHON) -m sim run $(SCENARIO) $(RUN_OPTIONS)

monitor: setup ## watch a running 'make sim' from a second terminal: throughput, ring, queues, latency
	@$(PYTHON) -m host monitor $(or $(OUTPUT),build/runs/$(SCENARIO))

waves: setup ## run a scenario and record a waveform: build/runs/<scenario>/waves.fst
	@$(PYTHON) -m sim run $(SCENARIO) $(filter-out --no-waves --waves,$(RUN_OPTIONS)) --waves

test: setup lint ## run lint and every test
	@$(PYTHON) -m pytest -n 2 --dist loadfile -m "not slow_proof" $(TESTS)

test-faults: setup ## random faults on the receive link, hostile frames to the engine: FAULT_CASES each, or the one of FAULT_SEED
	$(if $(FAULTS_UNKNOWN),$(error FAULTS = $(FAULTS): allowed are link, engine, or both))
	@rm -rf build/tests/jesd204b-coverage
	@$(FAULT_OPTIONS) $(PYTHON) -m pytest -q -n 2 $(FAULT_TESTS)
	@$(if $(FAULT_SEED),,$(if $(filter link,$(FAULTS)),$(PYTHON) -m tests.hdl.jesd204b.coverage))

programs: setup ## run unmodified RDMA programs (perftest, pingpong) as peers: all, or those of PROGRAM
	@$(PYTHON) -m sim programs $(PROGRAM)

formal: setup ## prove properties of the RTL, all or the one of PROOF: FIFOs, buffers, ring, acknowledgements
	@$(PYTHON) -m tests.formal $(PROOF)

lint: setup ## check HDL, Python, types, layering and generated files
	@$(PYTHON) -m sim lint

bench: setup ## the engine's figures in simulated time against their goals; then the testbench's speed in wall time
	@$(PYTHON) -m sim bench

synth: setup ## synthesise for UltraScale+ (yosys): area a subsystem, longest paths; build/synth/report.json
	@$(PYTHON) -m sim synth

registers: setup ## renew the files made from host/control/registers/registers.toml
	@$(PYTHON) -m host.control.registers --write

clean: ## remove everything that runs and builds made
	rm -rf build
