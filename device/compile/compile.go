// Package compile turns a kernel's source and macros into a binary.
//
// A Compiler is one way to do that: NVRTC in worker processes for CUDA, the host's C++ compiler for the emulator.
// Cached wraps any of them with a cache on disk. A compile that fails returns *Error with the compiler's own log; any
// other error means that the compiler itself could not work.
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

// Request is one compilation.
type Request struct {
	Kernel operator.Kernel
	Arch   string // what to compile for: "sm_90", "host"
	// Timeout stops a compilation that takes longer; 0: the compiler's own
	// limit. The wait for a free compiler does not count.
	Timeout time.Duration
	// Problem and Configuration are what the kernel is made from, for a compiler elsewhere that makes it anew.
	// Without a template it is the problem's reference; without a problem it is known to nobody else.
	Problem       *operator.Problem
	Configuration space.Configuration
}

type Binary struct {
	// Symbols are the names that the entries have in Code, where they differ.
	Symbols  map[string]string
	Code     []byte // cubin or shared object
	Log      string // the compiler's warnings
	Duration time.Duration
	Cached   bool // answered from the cache on disk
}

func (b *Binary) Symbol(entry string) string { return cmp.Or(b.Symbols[entry], entry) }

// Error is a compilation that failed because of the source, its macros or the
// time it took; the fault is the variant's, not the compiler's.
type Error struct {
	File    string
	Line    int // of the first error, 0 if unknown
	Message string
	Log     string
	Timeout bool
	Crashed bool // the compiler died over it
	// NoHeaders: it includes headers of CUDA's toolkit that the machine lacks.
	NoHeaders bool
}

// ErrHeaders is of an Error for want of headers of CUDA's toolkit.
var ErrHeaders = errors.New("CUDA's headers are missing")

func (e *Error) Is(target error) bool { return target == ErrHeaders && e.NoHeaders }

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Message)
}

// textBytes bounds Text: a trial keeps it.
const textBytes = 4 << 10

// Text is the error's line and, below it, the compiler's own words, the first of them if they are many.
func (e *Error) Text() string {
	log := strings.TrimSpace(e.Log)
	if len(log) > textBytes {
		log = strings.ToValidUTF8(log[:textBytes], "") + "\n..."
	}
	return strings.TrimSpace(e.Error() + "\n" + log)
}

// Compiler compiles requests; it may be used by many goroutines at once.
type Compiler interface {
	// Version names the compiler and its version, as "NVRTC 13.0".
	Version() string
	// Workers is how many compilations are worth running at once.
	Workers() int
	Compile(ctx context.Context, r Request) (*Binary, error)
	Close() error
}

// Target is the architecture to compile for on a GPU of this compute capability (90 for 9.0). Hopper's warpgroup
// instructions belong to sm_90a alone, which NVRTC knows from version 12 on; everywhere else the plain name serves.
func Target(compiler string, capability int) string {
	var version int
	// Of another compiler than NVRTC, version stays 0.
	_, _ = fmt.Sscanf(compiler, "NVRTC %d", &version)
	if capability == 90 && version >= 12 {
		return "sm_90a"
	}
	return fmt.Sprintf("sm_%d", capability)
}
