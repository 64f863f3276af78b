// Package compile turns a kernel's source and macros into a binary.
//
// The package has two compilers: NVRTC in worker processes for CUDA, and the host's C++ compiler for the emulator.
// Cached adds a cache on disk to any Compiler. A kernel that does not compile gives an *Error with the compiler's log;
// any other error means that the compiler itself could not work.
package compile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"autotune/operator"
	"autotune/space"
)

// Request asks for one compilation.
type Request struct {
	Kernel operator.Kernel
	Arch   string // what to compile for: "sm_90", "host"
	// Timeout stops a compilation that takes longer; 0 means the compiler's own limit. The time spent waiting for a
	// free compiler does not count toward Timeout.
	Timeout time.Duration
	// Problem and Configuration are what the kernel was made from, so that a compiler on another machine can make it
	// anew. A Configuration without a template means the problem's reference. A kernel without a Problem can be
	// compiled on this machine only.
	Problem       *operator.Problem
	Configuration space.Configuration
}

type Binary struct {
	// Symbols maps the name of a kernel's entry to its symbol in Code, for entries whose two names differ.
	Symbols  map[string]string
	Code     []byte // cubin or shared object
	Log      string // the compiler's warnings
	Duration time.Duration
	Cached   bool // answered from the cache on disk
}

func (b *Binary) Symbol(entry string) string { return cmp.Or(b.Symbols[entry], entry) }

// Error is a failed compilation whose cause is the kernel: its source, its macros or the time that it took to compile.
type Error struct {
	File    string
	Line    int // line of the first error, or 0 if unknown
	Message string
	Log     string
	Timeout bool
	Crashed bool // the compiler died while it compiled the kernel
	// NoHeaders says that the kernel includes headers of the CUDA toolkit that this machine lacks.
	NoHeaders bool
}

// ErrHeaders matches, through errors.Is, an Error whose cause is missing headers of the CUDA toolkit.
var ErrHeaders = errors.New("CUDA's headers are missing")

func (e *Error) Is(target error) bool { return target == ErrHeaders && e.NoHeaders }

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Message)
}

// textBytes is the largest number of bytes of a compiler's log that Text returns, since a trial stores that text.
const textBytes = 4 << 10

// Text returns the error's line and, below it, the compiler's log, cut after textBytes bytes.
func (e *Error) Text() string {
	log := strings.TrimSpace(e.Log)
	if len(log) > textBytes {
		log = strings.ToValidUTF8(log[:textBytes], "") + "\n..."
	}
	return strings.TrimSpace(e.Error() + "\n" + log)
}

// Compiler compiles requests. Many goroutines may use a Compiler at once.
type Compiler interface {
	// Version returns the compiler's name and version, for example "NVRTC 13.0".
	Version() string
	// Workers returns the number of compilations that are worth running at once.
	Workers() int
	Compile(ctx context.Context, r Request) (*Binary, error)
	Close() error
}

// Target returns the architecture to compile for on a GPU of this compute capability (90 means 9.0). Hopper's warpgroup
// instructions exist only on sm_90a, which NVRTC supports from version 12 on; for other GPUs the architecture has no
// suffix.
func Target(compiler string, capability int) string {
	var version int
	// version, the major version of NVRTC, stays 0 if the compiler is not NVRTC.
	_, _ = fmt.Sscanf(compiler, "NVRTC %d", &version)
	if capability == 90 && version >= 12 {
		return "sm_90a"
	}
	return fmt.Sprintf("sm_%d", capability)
}
