package compile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"syscall"

	"autotune/internal/worker"
)

// workerName is the name under which the program's main dispatches Worker.
const workerName = "compile"

// workerRequest asks a compile worker to introduce itself (no source), or to
// compile one program.
type workerRequest struct {
	File     string
	Source   string
	Includes map[string]string
	Options  []string
	Names    []string // name expressions of kernels, whose names in the code are wanted
}

// workerResponse answers it. A worker's error (worker.RemoteError) means that
// NVRTC itself failed, not the source.
type workerResponse struct {
	Code    []byte
	Symbols map[string]string // names in the code, by expression
	Log     string
	Failed  bool // the source does not compile; Log says why

	Missing string // there is no usable NVRTC, and why
	About   introduction
}

// introduction says which NVRTC a worker has loaded.
type introduction struct {
	From         string // the file, or the name that the dynamic linker knows
	Major, Minor int
	Archs        []int32 // supported architectures, as 90 for sm_90; empty if it cannot tell
}

// Version names the compiler, as "NVRTC 13.0".
func (i introduction) Version() string { return fmt.Sprintf("NVRTC %d.%d", i.Major, i.Minor) }

// Worker is the child process in which NVRTC runs: a compilation that hangs or
// crashes takes only this process with it. main registers it with
// worker.Dispatch under the name "compile".
func Worker(ctx context.Context, in io.Reader, out io.Writer) error {
	preferToDie()
	giveWay()
	limitMemory()
	var lib *library
	return worker.Serve(ctx, in, out, func(_ context.Context, o workerRequest) (workerResponse, error) {
		if lib == nil {
			l, err := loadLibrary()
			if errors.Is(err, ErrMissing) {
				return workerResponse{Missing: err.Error()}, nil
			} else if err != nil {
				return workerResponse{}, err
			}
			lib = l
		}
		if o.Source == "" {
			return introduce(lib), nil
		}
		return lib.build(o)
	})
}

// introduce compiles an empty kernel. So NVRTC has loaded all it needs before
// the first real compile is timed, and half an NVRTC is found out at once.
func introduce(lib *library) workerResponse {
	p := workerResponse{About: lib.introduction}
	arch := int32(80)
	if len(lib.Archs) > 0 {
		arch = slices.Max(lib.Archs)
	}
	made, err := lib.build(workerRequest{
		File: "warm_up.cu", Source: `extern "C" __global__ void warm_up() {}`,
		Options: []string{fmt.Sprintf("--gpu-architecture=sm_%d", arch)},
	})
	if err == nil && made.Failed {
		err = errors.New("the source does not compile")
	}
	if err != nil {
		p.Missing = missingNVRTC(fmt.Sprintf("%s does not work, its libnvrtc-builtins may be missing: %v %s", lib.From, err, made.Log)).Error()
	}
	return p
}

// memoryLimit is what NVRTC may take beyond what is there when it starts: an array
// of a gigabyte in a kernel costs its own compile, not the machine.
const memoryLimit = 4 << 30

// limitMemory bounds this process.
func limitMemory() {
	text, err := os.ReadFile("/proc/self/statm") // not on every system
	var pages uint64
	if _, scanned := fmt.Sscan(string(text), &pages); err != nil || scanned != nil {
		return
	}
	most := pages*uint64(os.Getpagesize()) + memoryLimit
	// Where it is not possible, nothing is lost.
	_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most})
}

// preferToDie offers this process first when the machine runs out of memory: a
// source that unrolls without end should cost its own compile, not the search.
func preferToDie() {
	// Where it is not possible, nothing is lost.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}

// niceness is by how much compilers give way to the process that measures, and to
// the search: there are as many of them as processors.
const niceness = 5

// giveWay lowers the priority of this process's threads, from which all others
// have theirs.
func giveWay() {
	// Where it is not possible, nothing is lost.
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness)
		}
	}
}
