// cuda_emulator.h makes a .cu file a C++ file: it is included, by the
// compiler's -include, before the kernel's first line, and gives it the part of
// CUDA that the compiler itself would have provided.
//
// The C++ library's headers stay out, unless the kernel includes some, for a
// variant must compile in a fraction of a second. What takes more than an inline function (barriers, warp
// operations, the launch) lives in the runtime that the variant is linked with.
#ifndef AUTOTUNE_CUDA_EMULATOR_H
#define AUTOTUNE_CUDA_EMULATOR_H

// A helper whose body is PTX takes another one where this is defined; those of the
// shared helpers are in emulated/. __CUDA_ARCH__ is not defined, as in code that
// nvcc compiles for the host.
#define AUTOTUNE_EMULATOR 1

#include "keywords.h"
#include "vector_types.h"
#include "indices.h"
#include "bits.h"
#include "float_math.h"
#include "barriers.h"
#include "warps.h"
#include "memory.h"
#include "atomics.h"
#include "async.h"
#include "mbarriers.h"
#include "groups.h"
#include "entry.h"

#endif
