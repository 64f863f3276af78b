// runtime.cpp is the program around a variant: it is compiled once, and linked
// with each variant into an executable that reads a job on standard input, runs
// it and writes lines to file descriptor 3: when a launch begins and ends, and at
// the end one of JSON.
//
// The parts, in the order in which they stand on each other:
//
//   switch.h     one stack to another
//   fibers.h     stacks, pooled
//   report.h     the line that says how the job ended
//   races.h      what the search for data races is told
//   block.h      the threads of one block, and its barriers
//   warp_meetings.h what the lanes of a warp do together
//   async_copies.h copies under way
//   mbarriers.h  barriers in shared memory, and the bulk loads that report to them
//   shared_memory.h the blocks' shared memory
//   groups.h     blocks that run at once: clusters and cooperative grids
//   launch.h     the blocks of a grid, over the machine's cores
//   job.h        what is to be done
//   parameters.h whether the kernels take the operator's arguments
//   tensors.h    the tensors: filled, poisoned, guarded
//   calls.h      the names of system calls
//   faults.h     what to say when the kernel is killed
//   filter.h     the filter of system calls
//   confine.h    what the kernel may take and ask of the system
//   race_clocks.h, race_hooks.h  the search for data races, in programs that look for them
//   compare.h    what a launch left out
//   main.h       launch, then time
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

// What the runtime and the shim must agree on.
#include "vector_types.h"
#include "indices.h"
#include "bits.h"
#include "warps.h"
#include "entry.h"

#include "switch.h"

// A kernel's file must find nothing of the runtime but the functions that the shim calls,
// which are extern "C", and this.
__thread AutotuneContext autotune_context;

namespace {

#include "fibers.h"
#include "report.h"
#include "races.h"
#include "block.h"
#include "warp_meetings.h"
#include "async_copies.h"
#include "mbarriers.h"
#include "shared_memory.h"
#include "groups.h"
#include "launch.h"
// Single elements, as every device draws and compares them.
#define ELEMENT static inline __attribute__((always_inline))
#include "elements.h"

#include "job.h"
#include "parameters.h"
#include "tensors.h"
#ifdef AUTOTUNE_RACES
#include "race_clocks.h"
}  // namespace
#include "race_hooks.h"  // the kernel's file calls these functions
namespace {
#endif
#include "calls.h"
#include "faults.h"
#include "filter.h"
#include "confine.h"
#include "compare.h"
#include "main.h"

}  // namespace

int main() { job_run(); }
