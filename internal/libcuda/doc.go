// Package libcuda lets a program use the CUDA driver without needing it, or a
// CUDA toolkit, to be built or to be started.
//
// gorgonia.org/cu is written against the toolkit's cuda.h and is linked with
// -lcuda. Here are stand-ins for both: cuda.h declares the part of the driver
// interface that is used. stubs/ makes libcuda.a: the first call of one of its functions loads the machine's own
// libcuda.so.1. libcuda.mk, which the Makefile includes, builds the archive and names the flags that put both in
// front of a toolkit's.
//
// A driver that is missing or broken is no obstacle to starting: every call
// then returns an error, and Error says which.
package libcuda
