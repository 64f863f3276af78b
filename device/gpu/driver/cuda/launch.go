//go:build cuda

package cuda

// This file contains the parts of the driver's interface that gorgonia.org/cu lacks: the attribute that allows more
// than 48 KB of dynamic shared memory, several launches in one call into C, graphs of launches, and the texts of the
// driver's errors.

/*
#cgo CFLAGS: -I${SRCDIR}/../../../../internal/libcuda
#cgo LDFLAGS: -lcuda
#include <cuda.h>
#include <stdlib.h>

// launch_row launches a kernel count times and stops at the first error.
static CUresult launch_row(CUfunction function, const unsigned *grid, const unsigned *block,
		const unsigned *cluster, int cooperative, int dependent, unsigned shared, CUstream stream, void **parameters, int count) {
	CUresult result = CUDA_SUCCESS;
	CUlaunchAttribute attributes[3] = {};
	unsigned set = 0;
	if (cooperative) {
		attributes[set].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
		attributes[set++].value.cooperative = 1;
	}
	if (dependent) {
		attributes[set].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
		attributes[set++].value.programmaticStreamSerializationAllowed = 1;
	}
	if (cluster[0]) {
		attributes[set].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
		attributes[set].value.clusterDim.x = cluster[0];
		attributes[set].value.clusterDim.y = cluster[1];
		attributes[set++].value.clusterDim.z = cluster[2];
	}
	if (set) {
		CUlaunchConfig config = {grid[0], grid[1], grid[2], block[0], block[1], block[2],
			shared, stream, attributes, set};
		for (int i = 0; i < count && result == CUDA_SUCCESS; i++)
			result = cuLaunchKernelEx(&config, function, parameters, NULL);
		return result;
	}
	for (int i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
			shared, stream, parameters, NULL);
	return result;
}
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"gorgonia.org/cu"

	"autotune/device/gpu"
	"autotune/operator"
)

// Bind allocates one block of C memory, which holds pointers to the values followed by the values.
func (c *context) Bind(values [][]uint64) (p gpu.Parameters, free func()) {
	words, count := slices.Concat(values...), max(len(values), 1)
	block := C.calloc(C.size_t(count+len(words)), 8)
	pointers := unsafe.Slice((*unsafe.Pointer)(block), count)
	own := unsafe.Add(block, 8*count)
	copy(unsafe.Slice((*uint64)(own), len(words)), words)
	for i, value := range values {
		pointers[i], own = own, unsafe.Add(own, 8*len(value))
	}
	return unsafe.SliceData(pointers), func() { C.free(block) }
}

func (c *context) Launch(f gpu.Function, l operator.Launch, p gpu.Parameters, count int) {
	var grid, block, cluster [3]C.uint
	for i := range grid {
		grid[i], block[i], cluster[i] = C.uint(l.Grid[i]), C.uint(l.Block[i]), C.uint(l.Cluster[i])
	}
	flag := func(set bool) C.int {
		if set {
			return 1
		}
		return 0
	}
	if err := resultError(C.launch_row(rawFunction(f.(function).Function), &grid[0], &block[0], &cluster[0], flag(l.Cooperative), flag(l.Dependent), C.uint(l.SharedBytes),
		c.queue(), p.(*unsafe.Pointer), C.int(count))); err != nil {
		c.keep(fmt.Errorf("launch: %w", err))
	}
}

func (c *context) queue() C.CUstream { return C.CUstream(unsafe.Pointer(c.stream.C())) }

// ResetCache turns the persisting lines of the L2 cache into normal lines. ResetCache ignores the error of drivers and
// GPUs that have no persisting lines.
func (c *context) ResetCache() {
	if result := C.cuCtxResetPersistingL2Cache(); result != C.CUDA_ERROR_NOT_SUPPORTED {
		c.keep(resultError(result))
	}
}

// Exit ends the process as a C program ends, with its exit handlers, which Go's os.Exit does not run. A profiler may
// write its report in an exit handler.
func Exit() { C.exit(0) }

// Capture makes a graph of the work that queue queues on the stream. Errors of freeing the graph are ignored, because a
// graph costs only a little memory until the process ends.
func (c *context) Capture(queue func()) (launch, destroy func(), err error) {
	on := c.queue()
	if err := resultError(C.cuStreamBeginCapture(on, C.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); err != nil {
		return nil, nil, err
	}
	queue()
	var captured C.CUgraph
	c.keep(resultError(C.cuStreamEndCapture(on, &captured))) // also after an error, to end the stream's capture
	if captured != nil {
		defer C.cuGraphDestroy(captured)
	}
	if err := c.Err(); err != nil {
		return nil, nil, err
	}
	var exec C.CUgraphExec
	if err := resultError(C.cuGraphInstantiateWithFlags(&exec, captured, 0)); err != nil {
		return nil, nil, err
	}
	return func() { c.keep(resultError(C.cuGraphLaunch(exec, on))) }, func() { C.cuGraphExecDestroy(exec) }, nil
}

func (f function) AllowShared(bytes int64) error {
	return resultError(C.cuFuncSetAttribute(rawFunction(f.Function), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)))
}

// rawFunction returns the driver's handle, which is the only field of a cu.Function.
func rawFunction(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }
