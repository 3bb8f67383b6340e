# make try   the main job in seconds: an agent mends a bug over SSH (needs Go only)
# make test  every test, against a real sshd and a real dockerd
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

fmt:
	$(GO) tool -modfile=.ci/tools/go.mod golangci-lint fmt ./...

clean:
	rm -rf bin
