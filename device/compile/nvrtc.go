package compile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"autotune/internal/lists"
	"autotune/internal/worker"
	"autotune/operator"
	"autotune/operator/tree"
)

// ErrArch means that the compiler does not know the requested architecture.
var ErrArch = errors.New("architecture not supported by this compiler")

// DefaultTimeout limits a compilation whose Request sets no timeout.
const DefaultTimeout = 30 * time.Second

// LineInfo is the option that adds the source lines of instructions to binaries, and changes no instruction.
const LineInfo = "-lineinfo"

var standardOptions = []string{"--std=c++17", "-default-device"}

// nvrtc compiles in worker processes, starts a worker if none is idle, and keeps workers for later compilations.
type nvrtc struct {
	introduction                     // that of the first worker
	options      []string            // passed with every kernel
	headers      []string            // folders of the CUDA toolkit's headers; empty if it is not installed
	workers      int                 // number of processes that compile at once
	slots        *semaphore.Weighted // one for each worker, and spare ones
	idle         chan *worker.Process
	closing      context.Context
	close        context.CancelFunc
	closed       sync.Once
}

// spare is the number of compilations that may run in addition to those that Workers counts. A search keeps as many
// compilations running as Workers counts, so a spare compilation lets the reference and the device's own kernels
// start without waiting.
const spare = 1

// NVRTC returns the compiler that makes cubins for NVIDIA GPUs. The error wraps ErrMissing if NVRTC is not installed.
//
// Options such as LineInfo are passed to NVRTC with every kernel. The calling program must register Worker with
// worker.Dispatch under the name "compile".
func NVRTC(ctx context.Context, options ...string) (Compiler, error) {
	return newNVRTC(ctx, runtime.NumCPU(), options...)
}

func newNVRTC(ctx context.Context, workers int, options ...string) (Compiler, error) {
	p, about, err := startCompiler(ctx)
	if err != nil {
		return nil, err
	}
	n := &nvrtc{introduction: about, options: slices.Concat(standardOptions, options), headers: headerDirs(), workers: workers, slots: semaphore.NewWeighted(int64(workers + spare)), idle: make(chan *worker.Process, workers+spare)}
	n.closing, n.close = context.WithCancel(context.Background())
	n.idle <- p
	return n, nil
}

// workerVariables lists the environment variables that a compile worker inherits: those that locate NVRTC and its
// headers, and those of the Go runtime. A compile worker gets no other environment variables, because a kernel's source
// can make the compiler read its environment.
var workerVariables = []string{
	"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "XDG_CACHE_HOME", "CUDA_*", "NVIDIA_*", "NVRTC_*", "AUTOTUNE_*",
	"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR",
}

// startCompiler starts a worker process and waits until the worker has loaded NVRTC and compiled an empty kernel.
func startCompiler(ctx context.Context) (*worker.Process, introduction, error) {
	p, err := worker.StartWith(ctx, worker.Environment(workerVariables...), workerName)
	if err != nil {
		return nil, introduction{}, err
	}
	about, err := worker.Call[workerRequest, workerResponse](ctx, p, workerRequest{})
	if err != nil {
		err = fmt.Errorf("start NVRTC: %w", err)
	} else if about.Missing != "" {
		err = fmt.Errorf("%w%s", ErrMissing, strings.TrimPrefix(about.Missing, ErrMissing.Error()))
	}
	if err != nil {
		return nil, introduction{}, errors.Join(err, p.Close())
	}
	return p, about.About, nil
}

func (n *nvrtc) Workers() int { return n.workers }

// Fingerprint returns the options, header folders and header versions that binaries depend on, for a cache's keys.
func (n *nvrtc) Fingerprint() string {
	return strings.Join(slices.Concat(n.options, n.headers, headerVersions(n.headers)), " ")
}

// missing says what to install if a kernel includes headers that this machine lacks, or returns "" if it lacks none.
func (n *nvrtc) missing(r Request) string {
	hasCUB := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, cubVersion))
		return err == nil
	}
	switch cub := GPUHeaders(r.Kernel); {
	case cub != nil && !slices.ContainsFunc(n.headers, hasCUB):
		return fmt.Sprintf("it includes <%s>, and %s", cub[0], missingCUB)
	case needsHeaders(r) && len(n.headers) == 0:
		return missingHeaders
	}
	return ""
}

func (n *nvrtc) Compile(ctx context.Context, r Request) (*Binary, error) {
	if err := n.checkArch(r.Arch); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.closing, cancel)()

	if err := n.slots.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for a compiler: %w", err)
	}
	defer n.slots.Release(1)
	p, err := n.take(ctx)
	if err != nil {
		return nil, err
	}
	defer n.giveBack(p)
	return n.compileIn(ctx, p, r)
}

func (n *nvrtc) compileIn(ctx context.Context, p *worker.Process, r Request) (*Binary, error) {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, DefaultTimeout))
	defer cancel()
	begin := time.Now()
	made, err := worker.Call[workerRequest, workerResponse](limited, p, n.requestOf(r))
	took := time.Since(begin)

	var died *worker.DiedError
	switch {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("compile %s: %w", r.Kernel.File, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded):
		message := fmt.Sprintf("the compilation was stopped after %v", took.Round(time.Millisecond))
		return nil, &Error{File: r.Kernel.File, Message: message, Timeout: true}
	case errors.As(err, &died):
		return nil, &Error{File: r.Kernel.File, Message: "the compiler crashed: " + died.Error(), Log: died.Stderr, Crashed: true}
	case err != nil:
		return nil, fmt.Errorf("compile %s: %w", r.Kernel.File, err)
	case made.Failed:
		refused := logError(r.Kernel.File, made.Log)
		if missing := n.missing(r); missing != "" {
			refused = &Error{File: r.Kernel.File, Message: missing, Log: made.Log, NoHeaders: true}
		}
		refused.NameMacros(r.Kernel.Macros, refused.Message)
		return nil, refused
	}
	return &Binary{Symbols: made.Symbols, Code: made.Code, Log: made.Log, Duration: took}, nil
}

func (n *nvrtc) requestOf(r Request) workerRequest {
	options := append([]string{"--gpu-architecture=" + r.Arch}, n.options...)
	if needsHeaders(r) {
		options = append(options, lists.Of(n.headers, func(dir string) string { return "--include-path=" + dir })...)
	}
	options = append(options, r.Kernel.Flags...)
	includes := r.Kernel.Includes
	if instead := cubInstead(r.Kernel); instead != nil {
		maps.Copy(instead, includes)
		includes = instead
	}
	return workerRequest{File: r.Kernel.File, Source: ahead(r.Kernel) + r.Kernel.Source, Includes: includes, Options: options, Names: mangled(r.Kernel)}
}

// mangled lists the entries whose names the compiler mangles: all entries that are not declared extern "C".
func mangled(k operator.Kernel) []string {
	if strings.Contains(k.Source, `extern "C"`) {
		return slices.DeleteFunc(k.Launches.Entries(), tree.IsName)
	}
	return k.Launches.Entries()
}

func (n *nvrtc) take(ctx context.Context) (*worker.Process, error) {
	select {
	case p := <-n.idle:
		return p, nil
	default:
		p, _, err := startCompiler(ctx)
		return p, err
	}
}

// giveBack keeps a living worker for the next compilation.
func (n *nvrtc) giveBack(p *worker.Process) {
	if p.Alive() {
		n.idle <- p
		return
	}
	// An error of Close is ignored, because the worker is dead already.
	_ = p.Close()
}

// Close cancels the running compilations and ends the workers.
func (n *nvrtc) Close() error {
	var group errgroup.Group
	n.closed.Do(func() {
		n.close()
		// Close acquires all slots and never releases them, so that nothing is compiled afterwards. Acquiring a
		// semaphore cannot fail if the context never ends.
		_ = n.slots.Acquire(context.Background(), int64(n.workers+spare))
		for range len(n.idle) {
			group.Go((<-n.idle).Close)
		}
	})
	return group.Wait()
}

var archPattern = regexp.MustCompile(`^(?:sm|compute)_([0-9]+)[a-z]?$`)

// checkArch returns a clear error if NVRTC is too old or too new for the GPU; NVRTC's own error is "invalid value".
func (n *nvrtc) checkArch(arch string) error {
	m := archPattern.FindStringSubmatch(arch)
	if m == nil {
		return fmt.Errorf("%w: %q is not of the form sm_90", ErrArch, arch)
	}
	number, _ := strconv.Atoi(m[1])
	known := n.Archs
	if len(known) == 0 || slices.Contains(known, int32(number)) {
		return nil
	}
	oldest, newest := slices.Min(known), slices.Max(known)
	return fmt.Errorf("%w: %s (%s) compiles for sm_%d to sm_%d, not for %s; install the NVRTC of another CUDA toolkit",
		ErrArch, n.Version(), n.From, oldest, newest, arch)
}
