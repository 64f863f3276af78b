// Package wire holds what the CUDA device and its worker process say to each
// other: requests, responses and the types within them.
package wire

import (
	"time"

	"autotune/tuner/device"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// Request is what the device asks of the worker. Beside Session exactly one
// field is set.
type Request struct {
	Session  int // number of the session that all but Describe are about
	Describe bool
	Open     *Open
	Evaluate *Evaluate
	Check    *Check
	Refill   *Refill
	Inputs   *Inputs
	Answer   *Answer
	Close    bool      // frees the session's memory
	Sanitize *Sanitize // about no session
}

// Response is what comes back.
type Response struct {
	Fault    *Fault // why the request could not be served
	GPUs     []device.Info
	Ceilings device.Ceilings
	Outcome  trial.Outcome
	Launches int  // of a Check
	Unusable bool // the GPU's context is lost: this worker can do nothing more
}

// Fault is an error that keeps its kind across processes.
type Fault struct {
	Kind    FaultKind
	Part    string // of a BadReference, as in device.ReferenceError
	Message string
}

func (f *Fault) Error() string { return f.Message }

// FaultKind tells faults apart.
type FaultKind int

// The kinds of faults.
const (
	NoDevice FaultKind = iota + 1
	NoMemory
	Trouble      // anything else
	BadReference // what the operator says of what is right fails; the message goes on from its name
)

// Open prepares a problem as a session.
type Open struct {
	Ordinal   int
	Arguments []operator.Argument
	Fills     []elements.Fill // by argument; only what is filled has one
	Files     []string        // by argument: what a tensor holds is a file's last bytes; "": it does not come from one
	Fillings  []Filling
	Reference Image
	Answers   []string   // without a Reference: by argument, files with what is right; none: an Answer will bring them
	Comparing *Comparing // nil: outputs are compared element by element
	Helpers   []byte     // kernels.cu, compiled
	Typed     []byte     // typed.cu, compiled; none where no argument needs it
	Protocol  device.Protocol
	// KnownCeilings: they were measured before. A session that is opened again
	// after its worker died does not measure them again.
	KnownCeilings bool
}

// Filling is a kernel of the operator's that fills tensors.
type Filling struct {
	Image     Image
	File      string // of its source, for messages
	Tensors   []int  // arguments that it fills
	Arguments []int  // that it takes: those, and scalars; a seed follows, that of the first tensor
}

// Comparing is the operator's own comparison: a kernel that takes the tensors that are
// read, of each that is compared what a variant made of it, what is right and, if it is
// read too, what it held before, the scalars, and where to add the one number that it
// gives.
type Comparing struct {
	Image Image
	File  string // of its source, for messages
	Bound float64
}

// Inputs writes what the tensors that are read hold into files.
type Inputs struct {
	Files []string // by argument; "": not wanted
}

// Answer brings what is right for the inputs of the moment, where no kernel says it.
type Answer struct {
	Files []string // by argument, as in Open
}

// Image is a compiled kernel and how to launch it.
type Image struct {
	Code     []byte
	Launches []Launch // that follow each other
}

// Launch is one launch of a kernel in an image.
type Launch struct {
	operator.Launch
	Symbol string // the kernel's name in the code
	Passed []int  // which of the arguments it takes, in its order
}

// Evaluate verifies and times a variant.
type Evaluate struct {
	Variant Image
	Best    float64 // milliseconds, 0 if there is none
	Energy  bool    // measure the energy of a launch too
	Look    bool    // look first who else uses the GPU
}

// Check launches a variant several times, without timing it.
type Check struct {
	Variant Image
	device.Check
}

// Refill draws the inputs anew and computes the reference's answer to them.
type Refill struct {
	Fills []elements.Fill // by argument, as in Open
}

// Sanitize launches a variant once, and nothing else of the operator's: inputs
// are filled, outputs hold nothing, no tensor has room beyond its end, and nothing
// is compared. It is for a worker that runs under a program which watches the
// launch.
type Sanitize struct {
	Ordinal   int
	Arguments []operator.Argument
	Fills     []elements.Fill // by argument, as in Open
	Files     []string        // as in Open
	Fillings  []Filling       // as in Open
	Helpers   []byte          // kernels.cu, compiled
	Typed     []byte          // typed.cu, as in Open
	Variant   Image
	Limit     time.Duration // of the launch
}

// MostOverTime is how many times the protocol's MeasureTime a variant's samples
// may take at most, when there are still too few.
const MostOverTime = 4
