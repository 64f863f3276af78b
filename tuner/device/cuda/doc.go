// Package cuda is the device that measures: a GPU, driven through
// gorgonia.org/cu.
//
// The GPU is used by a worker process, this same executable started again, so
// that a kernel which faults or never ends takes the worker down and not the
// search. This package is the search's side (Open, the sessions). It knows no
// CUDA: it sends requests, judges silence and death, and starts a new worker
// where the last one fell. Package cudaworker is the worker's side, and package
// wire is what they say to each other.
//
// Nothing large crosses between GPU and host: inputs are made and results are
// compared on the GPU, by the kernels of kernels.cu, and of typed.cu where tensors are
// not of f32, which the device's own compiler compiles.
package cuda
