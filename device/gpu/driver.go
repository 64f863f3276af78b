package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"autotune/device"
	"autotune/operator"
)

// Driver is the interface of a vendor's GPU library. The errors of Driver's methods are of type *Failure, or wrap
// device.ErrNone if there is no GPU or no driver.
type Driver interface {
	// List describes the GPUs of this machine without creating a context on them.
	List() ([]device.Info, error)
	// Open creates a context on a GPU, with the given number of events.
	Open(ordinal, events int) (GPU, error)
	// ParameterBytes returns the size of the parameters of a kernel in a binary. known is false if the binary does not
	// contain that size.
	ParameterBytes(code []byte, symbol string) (size int, known bool)
}

// GPU is a context on a GPU, with a single queue of work.
type GPU interface {
	// Enter makes the context current on the calling thread.
	Enter() error
	Bounds() Bounds
	Load(code []byte) (Module, error)
	Memory
	Queue
	Sensors
}

type Address uint64

// Memory gives access to a GPU's memory. Except for Synchronize, the methods of Memory are not ordered with work in the
// queue.
type Memory interface {
	Free() (free, total int64, err error)
	Allocate(bytes int64) (Address, error)
	Release(Address) error
	Write(to Address, from []byte) error // returns when the data has arrived
	Read(to []byte, from Address) error
	Synchronize() error // waits for the end of all queued work
}

// Queue runs work on the GPU in the order in which the methods were called. Err returns errors of work that could not
// be queued.
type Queue interface {
	Copy(to, from Address, bytes int64)
	// Set fills memory with count copies of a pattern of 1, 2 or 4 bytes.
	Set(to Address, size int, pattern uint32, count int64)
	// Bind copies the parameters of a kernel, each as words of eight bytes, into the driver's memory, where they stay
	// until free is called.
	Bind(values [][]uint64) (p Parameters, free func())
	// Launch launches a kernel count times in a row.
	Launch(f Function, l operator.Launch, p Parameters, count int)
	// Capture records the work that queue queues as a graph, which the driver then launches as one unit.
	Capture(queue func()) (launch, destroy func(), err error)
	// ResetCache turns the persisting lines of the L2 cache, which kernels asked the cache to keep, into normal lines.
	ResetCache()
	// Record queues an event. Events are numbered from 0.
	Record(event int)
	// Err returns the first error of queued work since the previous call of Err.
	Err() error

	Passed(event int) (bool, error)
	// Elapsed returns the time between two events in milliseconds.
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
	// AllowShared permits launches of the function with the given number of bytes of dynamic shared memory.
	AllowShared(bytes int64) error
	// Occupancy returns how many blocks fit into a multiprocessor at once.
	Occupancy(threads int, sharedBytes int64) (blocks int, err error)
}

type Sensors interface {
	// Look reads the clock of a GPU that will be busy for the given time. Since reading takes time itself, Look may
	// return an earlier reading.
	Look(busy time.Duration) Reading
}

// Reading is the state of the GPU's clock at one moment.
type Reading struct {
	At        time.Time
	MHz       int      // clock of the multiprocessors, 0 if unknown
	Throttled []string // reasons why the clock is low
}

// Bounds are the limits of a launch on a GPU.
type Bounds struct {
	operator.Limits
	SMThreads int // resident threads per multiprocessor
}

// Needs are the resources that a compiled kernel needs, as the driver reports them.
type Needs struct {
	Registers    int
	StaticShared int64
	Local        int64
	MaxThreads   int // largest block with which this kernel can be launched
}

type Failure struct {
	Text    string // its name and what it means
	Lost    bool   // the context is gone: every later call fails
	Trouble bool   // the GPU itself is at fault, whatever runs on it
}

func (f *Failure) Error() string { return f.Text }

// errLate means that the GPU did not reach an event in time. Nothing can stop a kernel except the end of its process.
var errLate = errors.New("the GPU did not finish in time")

func isLost(err error) bool {
	var f *Failure
	return errors.As(err, &f) && f.Lost || errors.Is(err, errLate) || errors.Is(err, device.ErrLost)
}

// lost wraps an error after which the GPU's context is unusable.
type lost struct{ error }

func (l lost) Unwrap() []error { return []error{l.error, device.ErrLost} }

// blamed is an error that is the operator's fault; errors.Is still finds the driver's error in it.
type blamed struct {
	*device.ReferenceError
	cause error
}

func (b blamed) Unwrap() []error { return []error{b.ReferenceError, b.cause} }

func blame(operator, part, what string, err error) error {
	var f *Failure
	if errors.As(err, &f) && f.Trouble {
		return fmt.Errorf("%s %s: %w", cmp.Or(part, "the reference"), what, err)
	}
	return blamed{device.Blame(operator, part, "%s: %v", what, err), err}
}
