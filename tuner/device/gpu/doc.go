// Package gpu is the device that measures: a GPU in this process, through a Driver.
//
// A session keeps a problem's tensors on the GPU and evaluates one variant after
// another. It checks what the variant needs and launches it once onto poisoned outputs.
// It compares these with the reference's, and looks at the guard zones and the inputs.
// Then it takes times, and looks at all of it again: the timed launches must be as right
// as the first.
//
// Nothing large crosses between GPU and host: inputs are made and results are compared
// on the GPU, by the kernels of kernels.cu, and of typed.cu where tensors are not of
// f32. The device's own compiler compiles these. Package verify says where to look and
// how to judge.
//
// A kernel that faults or never ends takes the context with it. The device then answers
// device.ErrLost for ever; package remote starts it again in a new process.
package gpu
