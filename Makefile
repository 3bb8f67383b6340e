# make try   the main job in seconds: an agent mends a bug over SSH (needs Go only)
# make test  every test, against a real sshd and a real dockerd
# make bench every tool on every target, in time and round trips
# make soak  the long forms: a million edits, 50 trees of each kind, 500 killed writes,
#            100 broken links, 500 batches, the conformance suite on every kind of SSH server and half
#            an hour of mixed work over links that break
# make fuzz  every fuzz target, FUZZTIME=60s each
GO ?= go
export GOFLAGS := $(GOFLAGS) -trimpath
LDFLAGS := -s -w

.PHONY: build helpers try test lint fmt bench soak fuzz clean

build: helpers
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/piremote

# What piremote carries to its targets, and is built into it; see
# backends/helper/build.
HELPERS ?= amd64 arm64
helpers:
	$(if $(HELPERS),CGO_ENABLED=0 $(GO) run ./backends/helper/build/embed $(HELPERS))

# The demonstration asks no model. Without the providers' libraries there is half as
# much to download and to build.
try: HELPERS = $(filter amd64 arm64,$(shell $(GO) env GOARCH))
try: helpers
	@mkdir -p bin/try
	CGO_ENABLED=0 $(GO) build -tags noproviders -ldflags '$(LDFLAGS)' -o bin/try/ ./cmd/piremote
	bin/try/piremote try

# Tests wait and compute: three packages run at a time, the longest first.
test:
	.ci/install
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	$(GO) vet -tags noproviders ./cmd/...
	$(GO) test -race -shuffle=on -p 3 -timeout 25m ./backends/ssh ./backends/docker ./e2e ./cmd/piremote/internal/wire ./backends/internal/posix ./backends/local ./...

lint:
	$(GO) mod verify
	$(GO) mod tidy -diff
	$(GO) tool -modfile=.ci/tools/go.mod golangci-lint run ./...

soak:
	.ci/install
	PIREMOTE_SOAK=1 $(GO) test -count=1 -timeout 120m ./tools/textedit ./backends/local ./backends/helper/client
	PIREMOTE_SOAK=1 $(GO) test -count=1 -timeout 240m ./backends/ssh ./backends/docker ./backends/backendtest ./cmd/piremote/internal/wire

# bench measures each tool on each target and the search beside rg and fd, by
# turns in one run; docs/performance.md says what the columns are.
bench:
	.ci/install
	$(GO) test -run '^$$' -bench . -skip Flood -benchtime 5x -timeout 60m ./e2e
	$(GO) test -run '^$$' -bench Flood -benchtime 1x -timeout 60m ./e2e
	$(GO) test -run '^$$' -bench . -benchtime 100x -timeout 60m ./backends/local ./tools/textedit
	$(GO) test -run '^$$' -bench . -benchtime 3x -timeout 60m ./backends/ssh ./backends/docker
	$(GO) test -run '^$$' -bench Overhead -benchtime 100x -count 5 -timeout 60m ./agent

fmt:
	$(GO) tool -modfile=.ci/tools/go.mod golangci-lint fmt ./...

# Each fuzz target of the tree in turn, for FUZZTIME each; the first failure ends it.
FUZZTIME ?= 60s
fuzz:
	@set -e; for dir in $$($(GO) list -f '{{.Dir}}' ./...); do \
	  for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go 2>/dev/null | cut -c6-); do \
	    echo "$$dir $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "$$dir"; \
	  done; \
	done

clean:
	rm -rf bin backends/helper/install/embedded/*.gz
