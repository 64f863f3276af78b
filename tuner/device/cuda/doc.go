// Package cuda is NVIDIA's GPUs as devices. Each is used by a child process, this same
// executable started again: package remote speaks with it and replaces it when a kernel
// takes it down. In the child, package gpu drives the GPU through gpu/driver/cuda.
//
// The compilers stay in the search's process, and so does compute-sanitizer's part: a
// variant is launched once more in a child under each of its tools.
package cuda
