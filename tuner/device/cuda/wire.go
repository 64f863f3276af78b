package cuda

import (
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// workerName is what the worker process is started as.
const workerName = "cuda"

// order is what the parent tells the worker; exactly one field is set.
type order struct {
	Describe bool
	Open     *openOrder
	Evaluate *evaluateOrder
	Close    *closeOrder
}

// answer is what comes back.
type answer struct {
	Fault    *fault // why the order could not be carried out
	Devices  []description
	Ceilings device.Ceilings
	Outcome  trial.Outcome
	Unusable bool // the GPU's context is lost: this worker can do nothing more
}

// fault is an error that keeps its kind across processes.
type fault struct {
	Kind    faultKind
	Message string
}

func (f *fault) Error() string { return f.Message }

type faultKind int

const (
	faultNone   faultKind = iota + 1 // no such device
	faultMemory                      // not enough memory
	faultDevice                      // anything else
)

// description is a GPU as the worker sees it.
type description struct {
	Name      string
	CUDA      int    // version that the driver supports: 13000
	Driver    string // version of the kernel's driver, "" if unknown
	Limits    operator.Limits
	MaxGrid   [3]int64
	MaxBlock  [3]int64
	SMThreads int // resident threads a multiprocessor
}

// openOrder prepares a problem as a session.
type openOrder struct {
	Ordinal    int
	Session    int // number that later orders name it by
	Tensors    []operator.Tensor
	Reference  image
	Helpers    []byte // kernels.cu, compiled
	Protocol   device.Protocol
	ATol, RTol float64
	// Ceilings were measured before; a session that is opened again after its
	// worker died does not measure them again.
	KnownCeilings bool
}

// image is a compiled kernel and how to launch it.
type image struct {
	Code   []byte
	Entry  string
	Launch operator.Launch
}

type evaluateOrder struct {
	Session int
	Variant image
	Best    float64 // milliseconds, 0 if there is none
}

type closeOrder struct {
	Session int
}
