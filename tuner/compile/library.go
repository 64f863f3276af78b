package compile

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"autotune/internal/sharedlib"
)

// library is NVRTC, loaded at run time.
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
	addName       func(program uintptr, expression string) int32
	loweredName   func(program uintptr, expression string, name **byte) int32
}

// The results of NVRTC calls that are told apart here.
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

// supportedArchs asks for the architectures; NVRTC can tell since CUDA 11.2.
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

// build compiles one program to a cubin, or says why the source does not compile.
// An error is NVRTC's own.
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
		// Out of memory or an error within NVRTC: it compiled another program when it
		// was loaded, so this one is to blame.
		if result != resultCompilation && result != resultInvalidOption {
			made.Log = fmt.Sprintf("error: %v\n%s", err, made.Log)
		}
		made.Failed = true
		return made, nil
	}
	var size uint64
	if err := l.check("nvrtcGetCUBINSize", l.cubinSize(program, &size)); err != nil {
		return made, err
	}
	if size == 0 {
		return made, fmt.Errorf("%s made no binary", l.Version())
	}
	made.Code = make([]byte, size)
	if err := l.check("nvrtcGetCUBIN", l.cubin(program, &made.Code[0])); err != nil {
		return made, err
	}
	made.Symbols, err = l.symbols(program, o.Names)
	return made, err
}

// symbols are the names that expressions have in the code.
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

// cStrings makes C strings; the caller keeps the slice alive while they are used.
func cStrings(texts []string) []*byte {
	c := make([]*byte, len(texts))
	for i, text := range texts {
		c[i] = unsafe.SliceData(append([]byte(text), 0))
	}
	return c
}

// first points at an array's first element, nil for an empty one.
func first(c []*byte) **byte { return unsafe.SliceData(c[:len(c):len(c)]) }
