// Package libcuda lets a program that uses the CUDA driver be built and started without the driver or a CUDA toolkit.
//
// gorgonia.org/cu is written against the toolkit's cuda.h and is linked with -lcuda. The files of this folder replace
// the toolkit's cuda.h and libcuda. The folder's cuda.h declares the part of the driver interface that is used. stubs/
// builds a libcuda.a whose functions load the machine's own libcuda.so.1 at the first call. libcuda.mk, which the
// Makefile includes, builds that archive and sets the flags that put this header and library in front of a toolkit's.
//
// A missing or broken driver does not stop a program from starting: every call then returns an error, and Error says
// why.
package libcuda
