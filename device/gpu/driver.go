package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
)

// Driver is all that a vendor's library must do for a device of this package. Its errors
// are *Failure; that there is no GPU, or no driver, wraps device.ErrNone.
type Driver interface {
	// List describes the GPUs of this machine, without using them.
	List() ([]device.Info, error)
	// Open makes a context on a GPU, with so many events.
	Open(ordinal, events int) (GPU, error)
	// ParameterBytes is what a kernel of a binary takes as its parameters; not every binary tells.
	ParameterBytes(code []byte, symbol string) (size int, known bool)
}

// GPU is a context on one GPU, with one queue of work.
type GPU interface {
	// Enter makes the context that of the calling thread.
	Enter() error
	Bounds() Bounds
	Load(code []byte) (Module, error)
	Memory
	Queue
	Sensors
}

type Address uint64

// Memory is a GPU's memory. These calls do not wait for the queue, nor it for them.
type Memory interface {
	Free() (free, total int64, err error)
	Allocate(bytes int64) (Address, error)
	Release(Address) error
	Write(to Address, from []byte) error // returns when it is there
	Read(to []byte, from Address) error
	Synchronize() error // waits for all that was asked for
}

// Queue runs work in the order in which it was queued. Err tells what cannot be queued.
type Queue interface {
	Copy(to, from Address, bytes int64)
	// Set sets count elements of 1, 2 or 4 bytes to a pattern.
	Set(to Address, size int, pattern uint32, count int64)
	// Bind prepares what a kernel is passed, each in words of eight bytes, in the driver's memory, until it is freed.
	Bind(values [][]uint64) (p Parameters, free func())
	// Launch launches a kernel count times in a row.
	Launch(f Function, l operator.Launch, p Parameters, count int)
	// Capture makes a graph of what queue queues: work that the driver queues as one.
	Capture(queue func()) (launch, destroy func(), err error)
	// ResetCache makes ordinary lines of those that kernels asked the L2 cache to keep.
	ResetCache()
	// Record queues an event. Events are counted from 0.
	Record(event int)
	// Err is the first error of what was queued since it was last asked for.
	Err() error

	Passed(event int) (bool, error)
	// Elapsed is the time between two events in milliseconds.
	Elapsed(from, to int) (float64, error)
}

type Parameters any

type Module interface {
	Function(symbol string) (Function, error)
	Global(name string) (at Address, bytes int64, err error)
	Unload() error
}

type Function interface {
	Needs() (Needs, error)
	// AllowShared lets it be launched with that much dynamic shared memory.
	AllowShared(bytes int64) error
	// Occupancy is how many blocks fit into a multiprocessor at once.
	Occupancy(threads int, sharedBytes int64) (blocks int, err error)
}

type Sensors interface {
	// Look reads the clock of a GPU that is busy for so long. A look takes
	// time itself: an earlier one may serve again.
	Look(busy time.Duration) Reading
	// Energy is what the GPU has used so far, in millijoules.
	Energy() (millijoules uint64, known bool)
	// LookAround sees who else uses the GPU, and Company is who it was.
	LookAround()
	Company() []trial.Warning
}

// Reading is what one look at the GPU saw.
type Reading struct {
	At        time.Time
	MHz       int      // clock of the multiprocessors, 0 if unknown
	Throttled []string // what holds the clock down
}

// Bounds are what limits a launch on a GPU.
type Bounds struct {
	operator.Limits
	SMThreads int // resident threads a multiprocessor
}

// Needs are what a compiled kernel asks of the GPU, by the driver.
type Needs struct {
	Registers    int
	StaticShared int64
	Local        int64
	MaxThreads   int // largest block that this kernel can be launched with
}

type Failure struct {
	Text    string // its name and what it means
	Lost    bool   // the context is gone: every later call fails
	Trouble bool   // the GPU itself is to blame, whatever runs on it
}

func (f *Failure) Error() string { return f.Text }

// errLate says that the GPU did not come to an event in time. Nothing can stop a kernel but the end of its process.
var errLate = errors.New("the GPU did not finish in time")

func isLost(err error) bool {
	var f *Failure
	return errors.As(err, &f) && f.Lost || errors.Is(err, errLate) || errors.Is(err, device.ErrLost)
}

// lost marks an error after which the context is gone.
type lost struct{ error }

func (l lost) Unwrap() []error { return []error{l.error, device.ErrLost} }

// blamed is an error that the operator is to blame for. The driver's keeps its identity.
type blamed struct {
	*device.ReferenceError
	cause error
}

func (b blamed) Unwrap() []error { return []error{b.ReferenceError, b.cause} }

// blame blames a part of an operator for an error, unless the GPU itself is to blame.
func blame(operator, part, what string, err error) error {
	var f *Failure
	if errors.As(err, &f) && f.Trouble {
		return fmt.Errorf("%s %s: %w", cmp.Or(part, "the reference"), what, err)
	}
	return blamed{device.Blame(operator, part, "%s: %v", what, err), err}
}
