# Two commands set up everything they need by themselves: `make demo`, `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

GO ?= go
BIN := bin
# One place has it; see scripts/version.
VERSION := $(or $(VERSION),$(shell scripts/version),$(error scripts/version found none))
LDFLAGS := -s -w -X main.version=$(VERSION)
PLATFORMS := linux/amd64 linux/arm64
TESTFLAGS ?=
# Checkouts in other folders, tests and scripts share what is compiled.
export GOFLAGS := -trimpath $(GOFLAGS)
# Without cgo, as it is released: with it, all that can use the network would be compiled once more
# for `runtime`. The race detector needs cgo, so its recipes leave the variable empty; it cannot be 1,
# which would also hold for Wasm.
export CGO_ENABLED := $(if $(findstring -race,$(TESTFLAGS)),,0)
RACE := CGO_ENABLED=
# The interpreter that sandboxes use: one that has NumPy.
export SEER_PYTHON ?= $(shell scripts/python)

.PHONY: build seer runtime plugins sdk wheel demo test unit test-clouds cross e2e bench lint fuzz soak flaky clean setup-build setup-test setup-bench setup-e2e

build: setup-build seer runtime plugins sdk

# The program knows its own plugins by their digests, so they are built first.
seer: plugins
	builtins=$$(scripts/builtins $(BIN)/plugins); \
	$(GO) build -ldflags "$(LDFLAGS) -X main.builtins=$$builtins" -o $(BIN)/seer ./cmd/seer

# Static, one for each system a sandbox may run: they are pushed to machines. seer-kube is for
# this computer alone.
runtime:
	@mkdir -p $(BIN)/runtime
	@for p in $(PLATFORMS) $$($(GO) env GOOS)/$$($(GO) env GOARCH); do \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -ldflags '-s -w' \
			-o $(BIN)/runtime/seer-runtime-$${p%/*}-$${p#*/} ./engine/runtime/seer-runtime; \
	done
	$(GO) build -ldflags '-s -w' \
		-o $(BIN)/runtime/seer-kube-$$($(GO) env GOOS)-$$($(GO) env GOARCH) ./engine/kube/seer-kube

plugins:
	scripts/build-plugins $(BIN)/plugins

# What `seer plugin new` puts into a new folder.
sdk:
	scripts/build-sdk $(BIN)/sdk

# The wheels of the Python package, for all systems, in dist/.
wheel: build
	VERSION="$(VERSION)" scripts/build-wheel

demo: build
	scripts/demo

# What runs on other systems is compiled with e2e.
test: PLATFORMS :=
test: setup-test build lint-quick unit

.PHONY: lint-quick
lint-quick:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$bad" || { echo "gofmt would change: $$bad" >&2; exit 1; }
	@! git grep -nE '^(<{7}|>{7}) ' || { echo "a merge was not finished" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) mod verify >/dev/null

# What takes minutes by its nature runs with e2e: storms of faults, a machine asleep, a model
# in training, a registry server that has to be compiled, attacks of all kinds, an agent that prints 1 GB.
LONG := ^(TestRegistry.*|TestAttacksHidden|TestAttacksBuilds|TestAttacksOnCalls|TestAttacksOnPages|TestAttacksByLinks|TestHostileRequests|TestHostileAgent|TestHostileAgentOnTheNetwork|TestHostileAgentWithoutIsolation|TestHostileSandbox|TestFunctionsThatMisbehave|TestFunctionsThatMisbehaveForALibrary|TestPluginFaults|TestPluginsNobodyHasHeardOf|TestNotebookFaults|TestPythonStorms|TestStormOfCalls|TestCallsAreCutAtEveryByte|TestCallsThroughABadProxy|TestMachineIsSuspended|TestKilledAtRandom|TestKilledAtEveryStepOnACloud|TestKilledUpOnACloud|TestKilledPull|TestKilledWhileItWaits|TestKilledParts|TestPythonIsKilledOnACloud|TestHubModelsOnACloud|TestHiddenHubModelsOnACloud|TestSeeds|TestNotebookIdle|TestNotebookTimeout|TestNotebookStartIsBrokenOff|TestTraining|TestAgentThatPrintsMuch)$$
# What needs gVisor's runsc, which takes minutes to build, runs in e2e/gvisor.sh.
GVISOR := TestGVisor|/^gvisor$$

# The plugins for tests, and what all plugins become, for the engines inside the tests and
# for the program: under the race detector, compiling one takes minutes.
.PHONY: compiled
compiled: seer
	@scripts/compiled $(BIN)
	@scripts/python --in .tools/python

# Four packages at a time, as most of them wait for other processes. The longest come first, so
# that none of them runs alone at the end; between them come those that mostly wait, for leases and
# timeouts, so that the CPUs always have work. Three tests of a package run at a time, for the same
# reason. lint-quick has vetted. Linking is half as dear without symbols that only a debugger reads;
# reports of races name their lines all the same.
GOTEST := $(GO) test $(TESTFLAGS) -vet off -parallel 3 -ldflags '-s -w'
unit race-built long-built: export SEER_TEST_BIN = $(CURDIR)/$(BIN)
# Each of the many programs would sleep a second at its end.
unit race-built long-built: export GORACE = atexit_sleep_ms=100
unit race-built long-built: export PATH := $(CURDIR)/.tools/python:$(PATH)
LONGEST := ./cmd/seer ./internal/acceptance ./engine/agent/doctor ./engine/run ./engine/python ./engine/enginetest/fakemodal ./engine ./engine/mcp/notebook ./engine/runtime ./engine/mcp/shell ./engine/machine/local ./engine/forward ./engine/plugin/host ./engine/batchjob ./python ./engine/sshhost
unit: compiled
	$(GOTEST) -p 4 -timeout 25m -skip '$(LONG)|$(GVISOR)' $(LONGEST) ./...

# The race detector doubles the time of the tests, so it runs with e2e. NORACE is what tests other
# programs than ours, what runs Seer only as a program, which has no detector, plugins, which have one
# thread, and what tries agents, as engine/run does. Packages in which nothing runs at once are left
# out, too, and tests that run again as an ordinary user, as they do with gVisor (e2e/gvisor.sh).
NORACE := /internal/(acceptance|archtest)$$|/cmd/seer|/examples|/python$$|/plugin/scaffold$$|/plugins/[^/]*$$|/agent/doctor$$
ATONCE := ^\s*go [a-z]|\.Go\(|AfterFunc|\.Parallel\(|httptest
.PHONY: race race-built
race: setup-test build compiled race-built
race-built:
	$(RACE) $(GOTEST) -race -p 3 -timeout 40m -skip '$(LONG)|$(GVISOR)|AsOrdinaryUser' \
		$$($(GO) list -f '{{.ImportPath}} {{.Dir}}' $$($(GO) list $(LONGEST) ./... | grep -vE '$(NORACE)') | \
			while read -r package dir; do ! grep -qE '$(ATONCE)' "$$dir"/*.go || echo "$$package"; done)

# Everything must keep compiling where we cannot run it; part of e2e. What `runtime` and
# `seer` have compiled is not compiled anew.
cross:
	@for p in linux/arm64 darwin/arm64; do \
		echo "cross-build $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -ldflags '-s -w' -o /dev/null ./cmd/seer; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -ldflags '-s -w' -o /dev/null ./engine/runtime/seer-runtime; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -ldflags '-s -w' -o /dev/null ./engine/kube/seer-kube; \
	done

# With the long tests among its scripts.
e2e: setup-e2e build compiled
	scripts/e2e

.PHONY: long long-built
long: setup-e2e build compiled long-built
long-built:
	$(GOTEST) -timeout 40m -run '$(LONG)' -skip '$(GVISOR)' ./internal/acceptance ./examples ./engine ./engine/run ./engine/python ./engine/runtime ./engine/plugin/host
	$(RACE) $(GOTEST) -race -timeout 40m -run '$(LONG)' ./engine/plugin/oci ./engine/image/registry

# Both clouds on their fakes: plugins, host, driver, tunnel, the whole program, and
# a kill at some steps. `soak` takes every step.
CLOUDS := ./internal/clouds ./engine/enginetest/... ./plugins/provider-modal/... ./plugins/provider-runpod/... \
	./engine/plugin/host/... ./engine/machine ./engine/protocol/... ./engine/client ./engine/pkginstall ./sdk/...

test-clouds: export SEER_TEST_BIN = $(CURDIR)/$(BIN)
test-clouds: setup-test build
	$(RACE) $(GO) test -race $(TESTFLAGS) -timeout 20m $(CLOUDS)
	$(RACE) $(GO) test -race $(TESTFLAGS) -timeout 40m -run Cloud ./internal/acceptance

soak: export SEER_TEST_BIN = $(CURDIR)/$(BIN)
soak: export SEER_SOAK = 1
# Where the kills of starts on clouds are counted, so that a soak goes on after a break.
soak: export SEER_SOAK_DIR ?= $(CURDIR)/$(BIN)/soak
soak: setup-test build
	$(RACE) $(GO) test -race $(TESTFLAGS) -timeout 4h -count 1 -run 'Cloud|Killed|Calls|Suspended|Journal' ./internal/acceptance

# Tests that start processes, 50 times beside two busy loops; goes on after a break.
flaky: export SEER_TEST_BIN = $(CURDIR)/$(BIN)
flaky: setup-test build compiled
	scripts/flaky

bench: setup-bench build
	$(GO) build -o $(BIN)/bench-helper ./bench/helper
	$(GO) -C bench/peers/goplugin build -o $(CURDIR)/$(BIN)/bench-goplugin .
	$(GO) run ./sdk/seer-pack $(BIN)/bench-echo bench/guest/expose-echo
	scripts/bench

lint: lint-quick
	scripts/lint

# A minute for each fuzz target; CI runs only their seeds, as part of `test`.
fuzz:
	scripts/fuzz

setup-build setup-test setup-bench setup-e2e:
	@scripts/setup $(@:setup-%=%)

clean:
	rm -rf $(BIN) .venv .tools
