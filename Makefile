# make            builds bin/autotune, with the CUDA device; needs Go and a C compiler
# make demo       builds and runs the main job
# make test       the tests that need no GPU, with some rows of each long table
# make test-full  the same with all rows, as CI runs it: three times as long
# make race       those of what does several things at once, under the race detector
# make fuzz       every fuzz target for 20 s each (FUZZTIME=5m: longer; FUZZFOLDER=tuner/store: that folder's)
# make endure     kills, full disks and damaged caches as often as docs/reliability.md tells, and every value of
#                 every tunable: 20 minutes
# make cover      which lines the tests reach: build/cover.html
# make lint       formatting, a build without the CUDA device, vet, staticcheck, prose
# make bench      benchmarks of spaces, strategies and the engine
# make test-gpu   the tests that need one
# make bench-gpu  the five operators that are tuned for, measured; writes docs/results/<gpu>/
# make bench-layers  problems of public networks beside PyTorch: a table
# make bench-holes  every operator, layout and type beside PyTorch; writes docs/results/<gpu>/holes.md
# make bench-networks  eight networks before and after replace; writes docs/results/<gpu>/networks.md
GO ?= go
.DEFAULT_GOAL := all
include internal/libcuda/libcuda.mk

.PHONY: all demo test test-full race fuzz endure cover lint bench test-gpu bench-gpu bench-layers bench-holes bench-networks bench-examples test-gpu-binaries clean
all: bin/autotune

# What lives for minutes has memory to spare: collected less often, spaces take two thirds of the time. Tests that
# bound a program's memory run it as users do.
test lint fuzz: export GOGC = 400

# Without what only debuggers read, compilers take a fifth less time and the binary is a quarter smaller. All builds
# share these flags, and none has -trimpath: else Go's own packages would be compiled again for each. The NATS server,
# which only tests have, takes longer to compile than any other package: half of that unoptimized.
export GOFLAGS := $(shell $(GO) env GOFLAGS) -gcflags=all=-dwarf=false
test lint fuzz race: export GOFLAGS += '-gcflags=github.com/nats-io/nats-server/v2/server=-N -l -dwarf=false'

bin/autotune: FORCE $(LIBCUDA)
	@test -e $@ || echo "compiling autotune and all that it is made of, Go's own library included: a minute or two on 2 cores, once"
	$(CUDA_ENV) $(GO) build -tags cuda -ldflags '-s -w' -o $@ ./cmd/autotune

demo: bin/autotune
	mkdir -p demo
	bin/autotune search conv2d --shape 16x16x1024x1024 --json demo/best.json --plot demo

# testsummary runs `go test` and says at the end which tests were left out because a tool is
# missing. -vet=off: lint vets, and looks for more. -ldflags: what only debuggers read is a
# third of the time that linking takes. The dearest packages begin first, so that small ones
# fill the end. -p: one package more than there are processors, since
# some wait for a time limit to pass. -timeout: a busy machine may take long.
DEAREST = ./operator ./cmd/autotune ./device/compile ./reports/pytorch ./internal/test/gputest ./pack/packer ./device/remote/fleet ./device/emulator
test: $(LIBCUDA)
	@$(CUDA_ENV) $(GO) run ./internal/test/summary -p $$(($$(nproc) + 1)) -timeout 40m -vet=off -ldflags "-s -w" -tags cuda $(DEAREST) ./...

test-full: export AUTOTUNE_TEST_FULL = 1
test-full: test

# The race detector needs cgo, and slows Go down by a factor of about ten. The packages
# are those whose own code, not only their tests', starts goroutines or shares memory
# among them. What a sync.Once guards is made before it is shared. NOT_OURS are tests whose time
# is that of compilers and of what they make; other tests of their packages have the same goroutines. -p: many wait
# for time limits.
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

# With and without the CUDA device, in an environment that lets Go's own packages be
# compiled once for both, for the binary and for the tests. Without it few packages have other files to vet.
lint: $(LIBCUDA)
	test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(CUDA_ENV) $(GO) build ./...
	$(CUDA_ENV) $(GO) vet $$(grep -rlE '^//go:build.*!(cuda|gpu)' --include='*.go' . | xargs -n 1 dirname | sort -u)
	$(CUDA_ENV) $(GO) vet -tags cuda,gpu ./...
	$(CUDA_ENV) $(GO) tool staticcheck ./...

bench:
	$(GO) test -run '^$$' -bench . ./...

# For a machine with a GPU and no Go, carry bin/, scripts/, templates/ and pack/loaders/python/ there and
# run scripts/test-gpu.sh.
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
