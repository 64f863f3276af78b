# make            builds bin/autotune with the CUDA device; needs Go and a C compiler
# make demo       builds autotune and runs a first search
# make test       runs the tests that need no GPU, with some rows of each long table
# make test-full  runs the same tests with all rows, as CI does; takes three times as long
# make race       runs the tests of concurrent code with the race detector
# make fuzz       runs every fuzz target for 20 s (FUZZTIME=5m for longer; FUZZFOLDER=tuner/store for one folder)
# make endure     tests kills, full disks and damaged caches as often as docs/reliability.md says, and every value
#                 of every tunable; takes 20 minutes
# make cover      writes build/cover.html, which shows the lines that tests reach
# make lint       checks formatting, builds without the CUDA device, and runs vet and staticcheck
# make bench      runs the benchmarks of spaces, strategies and the engine
# make test-gpu   runs the tests that need a GPU
# make bench-gpu  measures the five main operators; writes docs/results/<gpu>/
# make bench-examples  measures the operators under examples/; writes docs/results/<gpu>/examples.md
# make bench-layers  compares problems of public networks with PyTorch in a table
# make bench-holes  compares every operator, layout and type with PyTorch; writes docs/results/<gpu>/holes.md
# make bench-networks  measures eight networks before and after replace; writes docs/results/<gpu>/networks.md
GO ?= go
.DEFAULT_GOAL := all
include internal/libcuda/libcuda.mk

.PHONY: all demo test test-full race fuzz endure cover lint bench test-gpu bench-gpu bench-layers bench-holes bench-networks bench-examples test-gpu-binaries clean
all: bin/autotune

# Go collects garbage less often in test processes, which have memory to spare: spaces then take two thirds of the time.
# Tests that bound a program's memory run the program with Go's default.
test lint fuzz: export GOGC = 400

# Without debug information, compilation takes a fifth less time and the binary is a quarter smaller. All builds share
# these flags, and none has -trimpath, since Go's own packages would otherwise be compiled for each build. The NATS
# server, which only tests use, takes longest to compile; without optimization it takes half the time.
export GOFLAGS := $(shell $(GO) env GOFLAGS) -gcflags=all=-dwarf=false
test lint fuzz race: export GOFLAGS += '-gcflags=github.com/nats-io/nats-server/v2/server=-N -l -dwarf=false'

bin/autotune: FORCE $(LIBCUDA)
	@test -e $@ || echo "compiling autotune and all that it is made of, Go's own library included: a minute or two on 2 cores, once"
	$(CUDA_ENV) $(GO) build -tags cuda -ldflags '-s -w' -o $@ ./cmd/autotune

demo: bin/autotune
	mkdir -p demo
	bin/autotune search conv2d --shape 16x16x1024x1024 --json demo/best.json --plot demo

# testsummary runs `go test` and lists at the end the tests that were skipped because a tool is
# missing. The option -vet=off avoids repeating the checks of lint. Debug information would take a third of
# the linking time, so -ldflags omits it. The slowest packages start first, so that short ones
# fill the end. With -p, one package more than there are processors runs, since some tests only
# wait. A large -timeout allows for a busy machine.
DEAREST = ./operator ./cmd/autotune ./device/compile ./reports/pytorch ./internal/test/gputest ./pack/packer ./device/remote/fleet ./device/emulator
test: $(LIBCUDA)
	@$(CUDA_ENV) $(GO) run ./internal/test/summary -p $$(($$(nproc) + 1)) -timeout 40m -vet=off -ldflags "-s -w" -tags cuda $(DEAREST) ./...

test-full: export AUTOTUNE_TEST_FULL = 1
test-full: test

# The race detector needs cgo, and makes Go about ten times slower. It runs for the packages whose own
# code starts goroutines or shares memory among them. Packages that share only values guarded by
# sync.Once are left out. NOT_OURS lists tests that spend their time in compilers and compiled
# kernels; other tests of these packages cover the same goroutines. With -p, more packages run than there are
# processors, since many tests only wait.
SHARES_MEMORY = '\<go func|\.Go\(|<-|sync\.[^O]|atomic\.|errgroup\.|singleflight\.'
NOT_OURS = ^Test(EveryTemplateCompiles|Shim|Mma|SmallFloat.*|Types|Launches(Sanitized|Errors)?|HostileKernels|Fills|StandardHeaders|OwnKernels|Restores|BoxesBeginAt16Bytes|CUB|Families|DamagedFamilies|C|Python.*|KernelsCompile|EntriesAreChosen|GeneralKernelsKnowTheSizes|EveryOperatorIsServed)$$
race: $(LIBCUDA)
	$(CUDA_ENV) $(GO) test -p $$(($$(nproc) + 2)) -vet=off -tags cuda -race -short -skip '$(NOT_OURS)' -ldflags "-s -w" \
		$$(grep -rlE $(SHARES_MEMORY) --include='*.go' --exclude='*_test.go' cmd device internal operator pack reports space tuner | xargs -n 1 dirname | sort -u | sed 's,^,./,')

FUZZTIME ?= 20s
fuzz: $(LIBCUDA)
	$(CUDA_ENV) scripts/fuzz.sh $(FUZZTIME) $(FUZZFOLDER)

endure:
	AUTOTUNE_ENDURE=1 $(GO) test -v -timeout 2h -run 'TestEndurance|TestKilled|Damaged|Partition' ./cmd/autotune ./tuner/store ./device/remote/fleet
	AUTOTUNE_ENDURE=1 $(GO) test -timeout 2h -run TestTemplatesMatchReferences ./operator

cover: $(LIBCUDA)
	mkdir -p build
	$(CUDA_ENV) $(GO) test -tags cuda -short -coverpkg=./... -coverprofile=build/cover.out ./...
	$(GO) tool cover -html=build/cover.out -o build/cover.html
	$(GO) tool cover -func=build/cover.out | tail -n 1

# lint builds with and without the CUDA device, in an environment in which Go's own packages are compiled
# only once for both. Without the device, only packages with files for that case need a second vet.
lint: $(LIBCUDA)
	test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(CUDA_ENV) $(GO) build ./...
	$(CUDA_ENV) $(GO) vet $$(grep -rlE '^//go:build.*!(cuda|gpu)' --include='*.go' . | xargs -n 1 dirname | sort -u)
	$(CUDA_ENV) $(GO) vet -tags cuda,gpu ./...
	$(CUDA_ENV) $(GO) tool staticcheck ./...

bench:
	$(GO) test -run '^$$' -bench . ./...

# To test on a machine with a GPU and without Go, copy bin/, scripts/, templates/ and pack/loaders/python/ to it and
# run scripts/test-gpu.sh there.
test-gpu: test-gpu-binaries bin/autotune
	scripts/test-gpu.sh -test.v

test-gpu-binaries: $(LIBCUDA)
	$(CUDA_ENV) $(GO) test -c -tags cuda,gpu -trimpath -ldflags '-s -w' -o bin/cuda_gpu.test ./device/cuda
	$(CUDA_ENV) $(GO) test -c -tags cuda,gpu -trimpath -ldflags '-s -w' -o bin/gputest.test ./internal/test/gputest
	$(CUDA_ENV) $(GO) build -tags cuda -trimpath -ldflags '-s -w' -o bin/library ./examples/library

bench-gpu: bin/autotune
	scripts/bench-gpu.sh

bench-layers: bin/autotune
	scripts/holes.py --problems scripts/layers.txt --work bench-out/layers

bench-holes: bin/autotune
	scripts/holes.py

bench-networks: bin/autotune
	scripts/networks.py

bench-examples: bin/autotune
	scripts/bench-examples.sh

clean:
	rm -rf bin build demo

FORCE:
