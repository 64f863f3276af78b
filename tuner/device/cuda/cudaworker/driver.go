//go:build cuda

package cudaworker

// What gorgonia.org/cu does not offer: the attribute that allows more than 48 KB
// of dynamic shared memory, launches in a row without leaving C between them,
// graphs of launches, and the driver's own words for an error.

/*
#cgo CFLAGS: -I${SRCDIR}/../../../internal/libcuda
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
	"errors"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"autotune/internal/libcuda"
	"autotune/tuner/operator"
)

// arguments are a kernel's parameters in C's memory, eight bytes each.
type arguments struct {
	values   []uint64
	pointers *unsafe.Pointer
}

// newArguments allocates room for the values and sets them; free it.
func newArguments(values ...uint64) *arguments {
	count := max(len(values), 1)
	block := C.calloc(C.size_t(count), 16)
	a := &arguments{
		values:   unsafe.Slice((*uint64)(block), count),
		pointers: (*unsafe.Pointer)(unsafe.Add(block, 8*count)),
	}
	pointers := unsafe.Slice(a.pointers, count)
	for i := range pointers {
		pointers[i] = unsafe.Pointer(&a.values[i])
	}
	copy(a.values, values)
	return a
}

func (a *arguments) free() { C.free(unsafe.Pointer(&a.values[0])) }

// launchRow launches a kernel count times on a stream.
func launchRow(f cu.Function, l operator.Launch, stream cu.Stream, a *arguments, count int) error {
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
	return resultError(C.launch_row(rawFunction(f), &grid[0], &block[0], &cluster[0], flag(l.Cooperative), flag(l.Dependent), C.uint(l.SharedBytes),
		C.CUstream(unsafe.Pointer(stream.C())), a.pointers, C.int(count)))
}

// resetPersistingL2 makes ordinary lines of those that kernels asked the L2 cache
// to keep. A driver or GPU that has no such lines has none to reset.
func resetPersistingL2() error {
	if err := resultError(C.cuCtxResetPersistingL2Cache()); codeOf(err) != C.CUDA_ERROR_NOT_SUPPORTED {
		return err
	}
	return nil
}

// exit ends the process as a C program ends.
func exit() { C.exit(0) }

// graph is launches in a row that the driver queues as one.
type graph struct{ exec C.CUgraphExec }

// capture makes a graph of what queue queues on the stream.
func capture(stream cu.Stream, queue func() error) (g graph, err error) {
	on := C.CUstream(unsafe.Pointer(stream.C()))
	if err := resultError(C.cuStreamBeginCapture(on, C.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); err != nil {
		return g, err
	}
	queued := queue()
	var captured C.CUgraph
	// Also where queueing failed: the stream must be given back.
	ended := resultError(C.cuStreamEndCapture(on, &captured))
	if captured != nil {
		defer C.cuGraphDestroy(captured)
	}
	if queued != nil {
		return g, queued
	}
	if ended != nil {
		return g, ended
	}
	err = resultError(C.cuGraphInstantiateWithFlags(&g.exec, captured, 0))
	return g, err
}

// launch queues one launch of the graph.
func (g graph) launch(stream cu.Stream) error {
	return resultError(C.cuGraphLaunch(g.exec, C.CUstream(unsafe.Pointer(stream.C()))))
}

// destroy frees the graph. A failure costs a little memory, which goes with the
// worker at the latest.
func (g graph) destroy() { C.cuGraphExecDestroy(g.exec) }

// allowShared lets a kernel be launched with that much dynamic shared memory.
func allowShared(f cu.Function, bytes int64) error {
	return resultError(C.cuFuncSetAttribute(rawFunction(f), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)))
}

// rawFunction is the driver's handle, which is all that a cu.Function holds.
func rawFunction(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }

// driverError is a result of a driver call made here.
type driverError int

func (e driverError) Error() string { return libcuda.Text(int(e)) }

func resultError(r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return driverError(r)
}

// codeOf is the driver's number of an error, from here or from gorgonia.org/cu,
// whose type for it is not exported; 0 if there is none in the tree.
func codeOf(err error) int {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return int(v.Int())
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return codeOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if code := codeOf(one); code != 0 {
				return code
			}
		}
	}
	return 0
}

// inWords adds the driver's description to an error of gorgonia.org/cu, which
// has only a short name.
func inWords(err error) error {
	var own driverError
	code := codeOf(err)
	if code == 0 || errors.As(err, &own) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, libcuda.Text(code))
}

// isSticky tells whether an error has ended the context: every later call fails
// with it, so the worker is of no more use.
func isSticky(err error) bool {
	switch codeOf(err) {
	case C.CUDA_ERROR_ECC_UNCORRECTABLE, C.CUDA_ERROR_NVLINK_UNCORRECTABLE,
		C.CUDA_ERROR_ILLEGAL_ADDRESS, C.CUDA_ERROR_LAUNCH_TIMEOUT, C.CUDA_ERROR_CONTEXT_IS_DESTROYED,
		C.CUDA_ERROR_ASSERT, C.CUDA_ERROR_HARDWARE_STACK_ERROR, C.CUDA_ERROR_ILLEGAL_INSTRUCTION,
		C.CUDA_ERROR_MISALIGNED_ADDRESS, C.CUDA_ERROR_INVALID_ADDRESS_SPACE, C.CUDA_ERROR_INVALID_PC,
		C.CUDA_ERROR_LAUNCH_FAILED, C.CUDA_ERROR_UNKNOWN:
		return true
	}
	return errors.Is(err, errLate)
}

// isTrouble tells whether an error is the GPU's own, whatever runs on it.
func isTrouble(err error) bool {
	switch codeOf(err) {
	case C.CUDA_ERROR_ECC_UNCORRECTABLE, C.CUDA_ERROR_NVLINK_UNCORRECTABLE, C.CUDA_ERROR_CONTEXT_IS_DESTROYED,
		C.CUDA_ERROR_OUT_OF_MEMORY, C.CUDA_ERROR_UNKNOWN:
		return true
	}
	return false
}

// errLate says that the GPU did not come to an event in time. Nothing can stop
// a kernel but the end of its process.
var errLate = errors.New("the GPU did not finish in time")

// How long wait looks at an event without pause, and how long it then pauses.
// A core that never sleeps would be missing to the compilers.
const (
	watchFor   = 30 * time.Microsecond
	watchPause = 20 * time.Microsecond
)

// wait waits until the GPU has passed the event, for limit at most.
func wait(e cu.Event, limit time.Duration) error {
	begin := time.Now()
	for {
		err := e.Query()
		if err == nil || !errors.Is(err, cu.NotReady) {
			return err
		}
		switch waited := time.Since(begin); {
		case waited > limit:
			return errLate
		case waited > watchFor:
			time.Sleep(watchPause)
		}
	}
}
