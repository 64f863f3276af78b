package compile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"autotune/internal/lists"
	"autotune/internal/sharedlib"
	"autotune/internal/worker"
)

// workerName is the name under which the program's main registers Worker.
const workerName = "compile"

// workerRequest asks a compile worker to compile one program or, if it has no source, to describe its NVRTC.
type workerRequest struct {
	File     string
	Source   string
	Includes map[string]string
	Options  []string
	Names    []string // name expressions of kernels whose symbols are needed
}

// workerResponse answers a workerRequest. If a compile worker returns an error instead of a workerResponse, NVRTC
// itself failed, not the source.
type workerResponse struct {
	Code    []byte
	Symbols map[string]string // symbols in the code, by name expression
	Log     string
	Failed  bool // the source does not compile; Log says why

	Missing string // why there is no usable NVRTC
	About   introduction
}

type introduction struct {
	From         string // the file, or the name that the dynamic linker knows
	Major, Minor int
	Archs        []int32 // supported architectures, as 90 for sm_90; empty if NVRTC cannot list them
}

func (i introduction) Version() string { return fmt.Sprintf("NVRTC %d.%d", i.Major, i.Minor) }

// Worker is the child process in which NVRTC runs, so that a compilation that hangs or crashes takes only this process
// with it. main registers it with worker.Dispatch under the name "compile".
func Worker(ctx context.Context, in io.Reader, out io.Writer) error {
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

// introduce describes NVRTC and compiles an empty kernel. While it compiles the empty kernel, NVRTC loads all its
// parts, so that an incomplete NVRTC is noticed before the first timed compilation.
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

// memoryLimit is the number of bytes that NVRTC may allocate beyond what the worker uses at its start. Because of
// memoryLimit, a kernel with an array of a gigabyte makes its own compilation fail instead of using up the machine's
// memory.
const memoryLimit = 4 << 30

func limitMemory() {
	text, err := os.ReadFile("/proc/self/statm") // not on every system
	var pages uint64
	if _, scanned := fmt.Sscan(string(text), &pages); err != nil || scanned != nil {
		return
	}
	most := pages*uint64(os.Getpagesize()) + memoryLimit
	// An error of setting the memory limit is ignored, because compilation also works without the limit.
	_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most})
}

// niceness lowers the priority of compilers below that of the search and of the process that measures, since there are
// as many compilers as processors.
const niceness = 5

// giveWay lowers the priority of all threads of this process; threads started later inherit it.
func giveWay() {
	// Errors of lowering the priority are ignored, because a compiler works at any priority.
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness)
		}
	}
}

type library struct {
	introduction

	errorString   func(result int32) string
	createProgram func(program *uintptr, source, name string, headers int32, texts, names **byte) int32
	destroy       func(program *uintptr) int32
	compile       func(program uintptr, options int32, values **byte) int32
	logSize       func(program uintptr, size *uint64) int32
	log           func(program uintptr, log *byte) int32
	cubinSize     func(program uintptr, size *uint64) int32
	cubin         func(program uintptr, cubin *byte) int32
	ptxSize       func(program uintptr, size *uint64) int32
	ptx           func(program uintptr, ptx *byte) int32
	addName       func(program uintptr, expression string) int32
	loweredName   func(program uintptr, expression string, name **byte) int32
}

// This package distinguishes only the following result codes of NVRTC.
const (
	resultSuccess       = 0
	resultInvalidOption = 5
	resultCompilation   = 6
)

func loadLibrary() (*library, error) {
	handle, from, err := openLibrary()
	if err != nil {
		return nil, err
	}
	l := &library{introduction: introduction{From: from, Archs: supportedArchs(handle)}}
	var version func(major, minor *int32) int32
	err = sharedlib.Bind(handle, map[string]any{
		"nvrtcVersion":           &version,
		"nvrtcGetErrorString":    &l.errorString,
		"nvrtcCreateProgram":     &l.createProgram,
		"nvrtcDestroyProgram":    &l.destroy,
		"nvrtcCompileProgram":    &l.compile,
		"nvrtcGetProgramLogSize": &l.logSize,
		"nvrtcGetProgramLog":     &l.log,
		"nvrtcGetCUBINSize":      &l.cubinSize,
		"nvrtcGetCUBIN":          &l.cubin,
		"nvrtcGetPTXSize":        &l.ptxSize,
		"nvrtcGetPTX":            &l.ptx,
		"nvrtcAddNameExpression": &l.addName,
		"nvrtcGetLoweredName":    &l.loweredName,
	})
	if err != nil {
		return nil, missingNVRTC(fmt.Sprintf("%s is too old: %v", from, err))
	}
	var major, minor int32
	if err := l.check("nvrtcVersion", version(&major, &minor)); err != nil {
		return nil, err
	}
	l.Major, l.Minor = int(major), int(minor)
	return l, nil
}

// supportedArchs asks NVRTC for its architectures, which NVRTC can list since CUDA 11.2.
func supportedArchs(handle uintptr) []int32 {
	var count func(n *int32) int32
	var list func(archs *int32) int32
	if sharedlib.Bind(handle, map[string]any{"nvrtcGetNumSupportedArchs": &count, "nvrtcGetSupportedArchs": &list}) != nil {
		return nil
	}
	var n int32
	if count(&n) != resultSuccess || n <= 0 {
		return nil
	}
	archs := make([]int32, n)
	if list(&archs[0]) != resultSuccess {
		return nil
	}
	return archs
}

func (l *library) check(call string, result int32) error {
	if result == resultSuccess {
		return nil
	}
	return fmt.Errorf("%s of %s: %s", call, l.Version(), l.errorString(result))
}

func (l *library) build(o workerRequest) (made workerResponse, err error) {
	names, texts := make([]string, 0, len(o.Includes)), make([]string, 0, len(o.Includes))
	for name, text := range o.Includes {
		names, texts = append(names, name), append(texts, text)
	}
	cNames, cTexts, cOptions := cStrings(names), cStrings(texts), cStrings(o.Options)
	defer runtime.KeepAlive([][]*byte{cNames, cTexts, cOptions})

	var program uintptr
	result := l.createProgram(&program, o.Source, o.File, int32(len(names)), first(cTexts), first(cNames))
	if err := l.check("nvrtcCreateProgram", result); err != nil {
		return made, err
	}
	defer l.destroy(&program)

	for _, name := range o.Names {
		if err := l.check("nvrtcAddNameExpression", l.addName(program, name)); err != nil {
			return made, err
		}
	}
	result = l.compile(program, int32(len(o.Options)), first(cOptions))
	made.Log = l.programLog(program)
	if err := l.check("nvrtcCompileProgram", result); err != nil {
		// If the result is neither resultCompilation nor resultInvalidOption, NVRTC ran out of memory or failed
		// internally because of this kernel, since it could compile an empty kernel.
		if result != resultCompilation && result != resultInvalidOption {
			made.Log = fmt.Sprintf("error: %v\n%s", err, made.Log)
		}
		made.Failed = true
		return made, nil
	}
	if made.Code, err = l.code(program, o.Options); err != nil {
		return made, err
	}
	made.Symbols, err = l.symbols(program, o.Names)
	return made, err
}

// code returns the cubin of a real architecture, or the PTX of a virtual architecture.
func (l *library) code(program uintptr, options []string) ([]byte, error) {
	kind, sizeOf, read := "CUBIN", l.cubinSize, l.cubin
	if slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, "--gpu-architecture=compute_") }) {
		kind, sizeOf, read = "PTX", l.ptxSize, l.ptx
	}
	var size uint64
	if err := l.check("nvrtcGet"+kind+"Size", sizeOf(program, &size)); err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, fmt.Errorf("%s made no binary", l.Version())
	}
	code := make([]byte, size)
	if err := l.check("nvrtcGet"+kind, read(program, &code[0])); err != nil {
		return nil, err
	}
	if kind == "PTX" {
		code = bytes.TrimRight(code, "\x00")
	}
	return code, nil
}

func (l *library) symbols(program uintptr, expressions []string) (map[string]string, error) {
	if len(expressions) == 0 {
		return nil, nil
	}
	symbols := map[string]string{}
	for _, expression := range expressions {
		var name *byte
		if err := l.check("nvrtcGetLoweredName", l.loweredName(program, expression, &name)); err != nil {
			return nil, err
		}
		symbols[expression] = unix.BytePtrToString(name)
	}
	return symbols, nil
}

func (l *library) programLog(program uintptr) string {
	var size uint64
	if l.logSize(program, &size) != resultSuccess || size <= 1 {
		return ""
	}
	text := make([]byte, size)
	if l.log(program, &text[0]) != resultSuccess {
		return ""
	}
	return string(text[:size-1]) // without the terminating zero
}

func cStrings(texts []string) []*byte {
	return lists.Of(texts, func(text string) *byte { return unsafe.SliceData(append([]byte(text), 0)) })
}

func first(c []*byte) **byte { return unsafe.SliceData(c[:len(c):len(c)]) }
