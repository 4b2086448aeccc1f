# leaderrun: build, test, install. `make help` lists what there is.

# Left out: of the core, the library's own manual page generator; of helpers,
# gRPC's tracing pages, and the HTTP server and templates that come with them, and
# of leaderrun-gcs, the SDK's other way to the service, over gRPC. Tests leave it out, too:
# it is a sixth of what there is to compile.
TAGS    = urfave_cli_no_docs,grpcnotrace,disable_grpc_modules
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS = -s -w -X github.com/leaderrun/leaderrun/locks/program/version.number=$(VERSION) -X main.libexec=$(LIBEXEC)
PREFIX  ?= /usr/local
LIBEXEC ?= $(PREFIX)/libexec/leaderrun
DESTDIR ?=
BIN     ?= bin
CACHE   := $(or $(LEADERRUN_TEST_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/leaderrun-test)

# A pipe fails when any part of it does.
SHELL       = /bin/bash
.SHELLFLAGS = -o pipefail -c

# What tests that race the clock have recorded, and what earlier runs of all tests repeated.
RECORDS = $(CURDIR)/bin/records
HISTORY = $(CACHE)/repetitions

# The race detector needs a C compiler.
RACE    := $(if $(shell command -v $$(go env CC) 2>/dev/null),-race)
PLATFORMS = linux/arm64 darwin/amd64 darwin/arm64 freebsd/amd64

.PHONY: help build bundle install generate test tests-raced tests-stores test-long faults fault-mutants mutants packages servers lint vet cross bench soak sizes fuzz snapshot goreleaser compressed clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

RELEASED = CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags $(TAGS) -ldflags '-s -w'

build: ## the core and all helpers, into bin/
	CGO_ENABLED=0 go build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN)/ . ./locks/... ./runner/...

bundle: ## one file with every backend linked in: bin/bundle/leaderrun
	CGO_ENABLED=0 go build -trimpath -tags $(TAGS),bundle -ldflags '$(LDFLAGS)' -o bin/bundle/leaderrun .

install: build ## into $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBEXEC)
	install -m 755 $(BIN)/leaderrun $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(BIN)/leaderrun-* $(DESTDIR)$(LIBEXEC)/
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/libexec/leaderrun|$(LIBEXEC)|' locks/backend/quorum/leaderrun-quorum/leaderrun-voter.service >$(BIN)/voter.service
	install -m 644 $(BIN)/voter.service $(DESTDIR)$(PREFIX)/lib/systemd/system/leaderrun-voter.service
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 $(DESTDIR)$(PREFIX)/share/man/man7
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 man/*.5 $(DESTDIR)$(PREFIX)/share/man/man5/
	install -m 644 man/*.7 $(DESTDIR)$(PREFIX)/share/man/man7/
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions zsh/site-functions fish/vendor_completions.d)
	install -m 644 completions/leaderrun.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/leaderrun
	install -m 644 completions/_leaderrun $(DESTDIR)$(PREFIX)/share/zsh/site-functions/
	install -m 644 completions/leaderrun.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/

generate: ## write what follows from the options: parts of the manual pages
	go generate ./...

# It needs no root, no network once the modules are there, and no servers: a cache of servers that
# does not exist has none. Everything is compiled as programs are released, and so only once. Tests
# mainly wait, so three packages run at a time, and those that wait longest begin first.
LEFT_OUT = ^(TestDay|TestClocksChange|TestFaults)$$|^TestScripts$$/^(bundle|race)$$
.PHONY: check
check: export CGO_ENABLED = 0
check: export GOFLAGS += -trimpath -tags=$(TAGS)
check: export LEADERRUN_TEST_CACHE = /nonexistent
check: export CI =
check: ## what needs no root, no network and no servers, in at most 3 minutes; shows what it skips
	@unformatted=$$(gofmt -l .) && if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi
	go vet ./...
	@export LEADERRUN_TEST_PROGRAMS=$$(mktemp -d) && trap 'rm -rf "$$LEADERRUN_TEST_PROGRAMS"' EXIT && $(RELEASED) -o "$$LEADERRUN_TEST_PROGRAMS/" . ./.../leaderrun-... ./faults/testdata/subject && \
		$(GO_TEST) -json -p 3 -timeout 10m -skip '$(LEFT_OUT)' ./locks/backend/gcs ./locks/backend/gossip ./testscripts ./runner/guard ./locks/backend/file ./... | go run ./.ci/results
	@echo 'left to make test: the race detector, fleets, faults, and scripts with the bundle ($(LEFT_OUT))'

# No result is taken from Go's cache, which knows nothing of the programs that tests build.
# What is not vetted here is vetted by `make vet`.
GO_TEST = go test -count 1 -vet=off -tags $(TAGS)

# The race detector sees a sample of the elections, and the line after it more of them. It
# would end each program a second late, in case a race is still to come.
# Most tests wait most of their time, and a package runs many at once. With more packages at a
# time two processors are overcommitted, and tests that race the clock are repeated; each
# repetition is listed at the end, and so are the tests that are repeated often. The longest
# begin first. How go test ended is the last line of its log.
PACKAGES ?= 2
LONGEST = ./locks/backend/zookeeper ./examples ./locks/backend/postgres ./locks/backend/consul ./locks/backend/etcd ./locks/backend/quorum ./locks/backend/gossip ./testscripts ./faults ./locks/backend/file ./runner/guard
# These have next to no concurrency of their own, and their servers' libraries do so much that
# the race detector would double their costs. It sees them in long tests. The test of package
# known searches the source of all these libraries.
STORES = ./locks/backend/azblob ./locks/backend/kubernetes ./locks/backend/spanner ./locks/backend/gcs ./locks/backend/mysql ./locks/backend/known
test: packages servers ## every test, against real servers; installs what they need
	@mkdir -p bin && rm -f '$(RECORDS)' bin/raced.log bin/stores.log
	go build $(RACE) -tags $(TAGS) $$(go list -f '{{if ne .Name "main"}}{{.ImportPath}}{{end}}' ./...)
	@go build -o bin/again ./.ci/again
	@cat /proc/pressure/cpu /proc/pressure/io >bin/pressure 2>/dev/null || rm -f bin/pressure
	export LEADERRUN_TEST_PROGRAMS=$$(mktemp -d) && trap 'rm -rf "$$LEADERRUN_TEST_PROGRAMS"; bin/again report' EXIT && $(RELEASED) -o "$$LEADERRUN_TEST_PROGRAMS/" . ./.../leaderrun-... ./faults/testdata/subject && \
		{ $(MAKE) -k -j 2 tests-raced tests-stores || RACE=$(RACE) TAGS=$(TAGS) bin/again repeat; } && \
		$(if $(RACE),$(GO_TEST) -timeout 10m -run '^Test(Elections|Search|Flaws)' ./runner/guard ./locks/backend/quorum/votes,true)

test tests-raced tests-stores: export LEADERRUN_TEST_RECORDS = $(RECORDS)
test: export LEADERRUN_TEST_HISTORY = $(HISTORY)
tests-raced: export GORACE = atexit_sleep_ms=50
tests-raced:
	$(GO_TEST) $(RACE) -p $(PACKAGES) -timeout 20m $(LONGEST) \
		$$(go list ./... ./.ci/again | grep -vxF "$$(go list $(STORES))") 2>&1 | tee bin/raced.log; \
		s=$${PIPESTATUS[0]}; echo "go test: $$s" >>bin/raced.log; exit $$s

tests-stores:
	CGO_ENABLED=0 $(GO_TEST) -trimpath -p 1 -timeout 20m $(STORES) 2>&1 | tee bin/stores.log; \
		s=$${PIPESTATUS[0]}; echo "go test: $$s" >>bin/stores.log; exit $$s

# In full, where `make test` has a selection or a sample.
test-long: packages servers goreleaser ## what takes minutes more: elections, fleets, faults, releases, every suite in every mode
	LEADERRUN_TEST_LONG=1 $(GO_TEST) $(RACE) -p $(PACKAGES) -timeout 30m $(STORES) ./locks/backend/postgres
	LEADERRUN_TEST_LONG=1 $(GO_TEST) -p $(PACKAGES) -timeout 30m ./faults ./testscripts/fleet ./testscripts/release
	LEADERRUN_TEST_LONG=1 $(GO_TEST) -p $(PACKAGES) -timeout 30m -run 'Unfair$$|TestElections$$|TestChanges$$|TestSearch' ./locks/backend/quorum/votes ./locks/backend/consul ./locks/backend/etcd ./locks/backend/zookeeper ./runner/guard

faults: servers ## the fault suite, for FAULTS_MINUTES (15) a cell, FAULTS_AT_ONCE, with FAULTS_SEED; writes faults/RESULTS.md
	FAULTS_MINUTES=$${FAULTS_MINUTES:-15} FAULTS_RESULTS=RESULTS.md FAULTS_PARTS=$(CURDIR)/faults/parts go test -parallel $${FAULTS_AT_ONCE:-$$(nproc)} -count 1 -tags $(TAGS) -timeout 0 -v -run 'TestFaults$$' ./faults

fault-mutants: servers ## deliberate defects, each of which the fault suite must find; FAULTS_MUTANTS are some
	FAULTS_MUTANTS=$${FAULTS_MUTANTS:-.} go test -count 1 -tags $(TAGS) -timeout 0 -v -run 'TestMutants$$' ./faults/mutants

mutants: ## changes of recipes, leases and votes, one place at a time, each of which a test must notice
	go test -count 1 ./.ci/mutate
	go run ./.ci/mutate ./locks/recipe/... ./locks/kit/causes ./locks/kit/handle ./locks/lease/... ./locks/backend/quorum/votes

packages: ## install the Debian packages that tests need, as root
	@.ci/packages

servers: ## install the servers that tests need, once, into a cache outside the tree
	.ci/servers

# Programs are released with these settings, so what they import is compiled once for all.
vet lint mutants: export CGO_ENABLED = 0
vet lint mutants: export GOFLAGS += -trimpath -tags=$(TAGS)

vet: ## go vet here, and a check of types for other systems
	.ci/vet $(PLATFORMS)

cross: ## all packages built for other systems, and go vet on what is different there; takes minutes
	.ci/cross $(PLATFORMS)

lint: $(CACHE)/golangci-lint-v2.15.0/golangci-lint $(CACHE)/actionlint-v1.7.12/actionlint ## golangci-lint, actionlint, and shellcheck where there is one
	$< run --build-tags bench,$(TAGS) ./... ./.ci/again ./.ci/typecheck ./.ci/results ./.ci/mutate ./examples/leaderrun-shelf ./examples/leaderrun-shelf/shelfd
	$(CACHE)/actionlint-v1.7.12/actionlint
	@if command -v shellcheck >/dev/null; then .ci/shellcheck; \
	else echo "skipped: shellcheck is not installed"; test -z "$(CI)"; fi

$(CACHE)/golangci-lint-v2.15.0/golangci-lint:
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

$(CACHE)/actionlint-v1.7.12/actionlint:
	GOBIN=$(@D) go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

bench: build servers ## measure against flock(1) and etcdctl on a quiet machine; writes bench/RESULTS.md
	go test -tags bench,$(TAGS) -count 1 -timeout 60m -v -run TestBench ./bench

soak: build servers ## what is in use while nothing happens, for SOAK_MINUTES (120); writes bench/SOAK.md
	SOAK_MINUTES=$${SOAK_MINUTES:-120} go test -tags bench,$(TAGS) -count 1 -timeout 0 -v -run TestSoak ./bench

sizes: build servers ## hand-overs among 10, 100 and 1,000 waiters of five stores, and a thousand locks of one host; writes bench/SIZES.md
	go test -tags bench,$(TAGS) -count 1 -timeout 60m -v -run TestSizes ./bench

FUZZTIME ?= 30s
fuzz: ## each fuzz target, for FUZZTIME (30s)
	@go test -list '^Fuzz' ./... | awk '/^Fuzz/ {t[++n] = $$1} /^ok/ {for (i = 1; i <= n; i++) print $$2, t[i]; n = 0}' | \
	while read -r pkg target; do go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; done

goreleaser: $(CACHE)/goreleaser-v2.16.0/goreleaser ## install it into the cache, for the next and for tests

$(CACHE)/goreleaser-v2.16.0/goreleaser:
	GOBIN=$(@D) go install github.com/goreleaser/goreleaser/v2@v2.16.0

# One at a time: programs come into an archive in the order in which they are done.
snapshot: goreleaser ## archives and packages of all platforms, into dist/
	$(CACHE)/goreleaser-v2.16.0/goreleaser release --snapshot --clean --parallelism=1 --skip=docker,sbom,sign

# For goreleaser.yaml: manual pages and the changelog as distributions want them.
compressed:
	rm -rf bin/compressed
	mkdir -p bin/compressed/man
	for page in man/*.[1-9]; do gzip -9nc "$$page" >"bin/compressed/$$page.gz" || exit 1; done
	gzip -9nc CHANGELOG.md >bin/compressed/changelog.gz

clean: ## remove what was built
	rm -rf bin dist
