// Package cuda is the device that measures: a GPU, driven through
// gorgonia.org/cu.
//
// The GPU is used by a worker process, this same executable started again, so
// that a kernel which faults or never ends takes the worker down and not the
// search. The parent's side (Open, the sessions) knows no CUDA: it sends orders,
// judges silence and death, and starts a new worker that takes up where the
// last one fell. The worker's side keeps a problem's tensors on the GPU and
// evaluates one variant an order: it checks what the variant needs, launches it
// once onto poisoned outputs, compares these with the reference's, looks at the
// guard zones and the inputs, and only then takes times.
//
// Nothing large crosses between GPU and host: inputs are made and results are
// compared on the GPU, by the kernels of kernels.cu, which the session's own
// compiler compiles.
//
// The worker needs the build tag cuda (make sets it). Without it the package
// builds anywhere and says, when asked for a device, that it has none.
package cuda
