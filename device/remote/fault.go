package remote

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"autotune/device"
	"autotune/device/compile"
)

type FaultKind string

const (
	Refused      FaultKind = "refused"   // the compiler refused the kernel
	BadReference FaultKind = "reference" // the operator's right answers cannot be computed
	NoMemory     FaultKind = "memory"    // the problem does not fit
	NoDevice     FaultKind = "device"    // there is no such device
	NotOpen      FaultKind = "closed"    // the problem is not open or not known
	Ended        FaultKind = "ended"     // the worker has ended; with Crashed, because of this request
	Trouble      FaultKind = "trouble"   // anything else
)

// ErrNotBegun means that a worker ended before it began the job.
var ErrNotBegun = errors.New("the job was not begun")

var faultKinds = []FaultKind{Refused, BadReference, NoMemory, NoDevice, NotOpen, Ended, Trouble}

// Fault is an error in a message; its kind survives the transport.
type Fault struct {
	Kind    FaultKind `json:"kind"`
	Message string    `json:"message"`
	Log     string    `json:"log,omitempty"`
	Part    string    `json:"part,omitempty"` // part of the operator, for a BadReference
	// The values of File, Line, Timeout and Crashed come from a compile.Error.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Timeout bool   `json:"timeout,omitempty"`
	Crashed bool   `json:"crashed,omitempty"`
}

func (f *Fault) Error() string { return f.Message }

const logBytes = 64 << 10

// firstOf returns the beginning of a log, cut to the length that a message may contain.
func firstOf(text string) string { return text[:min(len(text), logBytes)] }

// FaultOf converts an error to a Fault with the details that the receiver tests for.
func FaultOf(err error) *Fault {
	f := &Fault{Kind: Trouble, Message: err.Error()}
	var known *Fault
	var refused *compile.Error
	var reference *device.ReferenceError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &reference):
		f.Kind, f.Part, f.Message, f.Log = BadReference, reference.Part, reference.Fault, firstOf(reference.Log)
	case errors.As(err, &refused):
		*f = Fault{
			Kind: Refused, Message: refused.Message, Log: firstOf(refused.Log),
			File: refused.File, Line: refused.Line, Timeout: refused.Timeout, Crashed: refused.Crashed,
		}
	case errors.Is(err, device.ErrMemory):
		f.Kind, f.Message = NoMemory, strings.TrimSuffix(f.Message, ": "+device.ErrMemory.Error())
	case errors.Is(err, device.ErrNone):
		f.Kind, f.Message = NoDevice, device.Reason(err)
	}
	return f
}

// err converts the fault back to an error whose type or identity callers of a device test for. The error that err
// returns names the faulty operator, or the file that did not compile.
func (f *Fault) err(operator, file string) error {
	switch f.Kind {
	case BadReference:
		return &device.ReferenceError{Operator: operator, Part: f.Part, Fault: f.Message, Log: f.Log}
	case Refused:
		return &compile.Error{
			File: cmp.Or(f.File, file), Line: f.Line, Message: f.Message, Log: f.Log, Timeout: f.Timeout, Crashed: f.Crashed,
		}
	case NoMemory:
		return fmt.Errorf("%s: %w", f.Message, device.ErrMemory)
	case NoDevice:
		return fmt.Errorf("%s: %w", f.Message, device.ErrNone)
	case Ended:
		if f.Crashed {
			return fmt.Errorf("%s: %w", f.Message, device.ErrGone)
		}
		return fmt.Errorf("%s: %w: %w", f.Message, ErrNotBegun, device.ErrGone)
	}
	return f
}
