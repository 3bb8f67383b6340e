# make try   the main job in seconds: an agent mends a bug over SSH (needs Go only)
# make test  every test, against a real sshd and a real dockerd
# make bench every tool on every target, in time and round trips
GO ?= go
export GOFLAGS := $(GOFLAGS) -trimpath
LDFLAGS := -s -w

.PHONY: build try test lint fmt bench soak fuzz clean

build:
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

try: build
	bin/piremote try

test:
	.ci/install
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	$(GO) test -race -shuffle=on -timeout 20m ./...

lint:
	$(GO) mod verify
	$(GO) mod tidy -diff
	$(GO) tool -modfile=.ci/tools/go.mod golangci-lint run ./...

# bench measures each tool on each target and the search beside rg and fd, by
# turns in one run; docs/performance.md says what the columns are.
bench:
	.ci/install
	$(GO) test -run '^$$' -bench . -benchtime 5x -timeout 60m ./e2e ./backends/local ./tools/...

fmt:
	$(GO) tool -modfile=.ci/tools/go.mod golangci-lint fmt ./...

clean:
	rm -rf bin
