package gpu

import (
	"fmt"

	"autotune/internal/output"
	"autotune/tuner/compile"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// unfit says why a launch cannot work on this GPU before it is tried; the
// status is "" if nothing speaks against it.
func unfit(n Needs, launch operator.Launch, d Bounds) (trial.Status, string) {
	threads := int64(1)
	for i, axis := range []string{"x", "y", "z"} {
		if launch.Grid[i] < 1 || launch.Block[i] < 1 {
			return trial.LaunchError, fmt.Sprintf("grid %v and block %v must be at least 1 in %s", launch.Grid, launch.Block, axis)
		}
		if launch.Block[i] > d.MaxBlock[i] {
			return trial.Pruned, fmt.Sprintf("block %s is %d, the GPU allows %d", axis, launch.Block[i], d.MaxBlock[i])
		}
		if launch.Grid[i] > d.MaxGrid[i] {
			return trial.Pruned, fmt.Sprintf("grid %s is %d, the GPU allows %d", axis, launch.Grid[i], d.MaxGrid[i])
		}
		threads *= launch.Block[i]
	}
	if threads > int64(d.MaxThreadsPerBlock) {
		return trial.Pruned, fmt.Sprintf("a block has %d threads, the GPU allows %d", threads, d.MaxThreadsPerBlock)
	}
	if threads > int64(n.MaxThreads) {
		return trial.Pruned, fmt.Sprintf("a block has %d threads, %d registers a thread leave room for %d", threads, n.Registers, n.MaxThreads)
	}
	if shared := n.StaticShared + launch.SharedBytes; shared > int64(d.MaxSharedPerBlock) {
		return trial.Pruned, fmt.Sprintf("a block needs %d bytes of shared memory, the GPU allows %d", shared, d.MaxSharedPerBlock)
	}
	return "", ""
}

// resources are the needs as a trial records them.
func (n Needs) resources(launch operator.Launch, blocksPerSM int, d Bounds) trial.Resources {
	r := trial.Resources{Registers: n.Registers, SharedBytes: n.StaticShared + launch.SharedBytes, LocalBytes: n.Local}
	if d.SMThreads > 0 {
		r.Occupancy = float64(int64(blocksPerSM)*threadsOf(launch)) / float64(d.SMThreads)
	}
	return r
}

func threadsOf(l operator.Launch) int64 { return l.Block[0] * l.Block[1] * l.Block[2] }

const pointerBytes = 8

// mismatch says that a kernel does not take the arguments that it will be given; ""
// if it does, or if the binary does not tell. The driver would not: it reads what
// lies behind the arguments.
func mismatch(d Driver, b *compile.Binary, k operator.Kernel, arguments []operator.Argument) string {
	for _, l := range k.Launches {
		var passed []operator.Argument
		for _, i := range operator.Passed(arguments, l) {
			passed = append(passed, arguments[i])
		}
		if wrong := launchMismatch(d, b, l.Entry, passed); wrong != "" {
			if len(k.Launches) > 1 {
				wrong = l.Entry + ": " + wrong
			}
			return wrong
		}
	}
	return ""
}

// launchMismatch is what mismatch says of one kernel and what it is given.
func launchMismatch(d Driver, b *compile.Binary, entry string, arguments []operator.Argument) string {
	size, known := d.ParameterBytes(b.Code, b.Symbol(entry))
	wanted, scalars := argumentBytes(arguments)
	tensors := len(arguments) - scalars
	switch {
	case !known || size == wanted:
		return ""
	case scalars > 0:
		return fmt.Sprintf("the kernel's parameters take %s, the operator's %s and %s %d",
			output.Count(size, "byte"), output.Count(tensors, "tensor"), output.Count(scalars, "scalar"), wanted)
	case size%pointerBytes != 0:
		return fmt.Sprintf("the kernel's parameters take %s, the pointers of the operator's %s %d",
			output.Count(size, "byte"), output.Count(tensors, "tensor"), wanted)
	}
	return fmt.Sprintf("the kernel takes %s, the operator has %s", output.Count(size/pointerBytes, "pointer"), output.Count(tensors, "tensor"))
}

// argumentBytes is what arguments take as a kernel's parameters, each aligned to its
// size, and how many of them are scalars.
func argumentBytes(arguments []operator.Argument) (bytes, scalars int) {
	for _, a := range arguments {
		size := pointerBytes
		if a.Role == operator.Scalar {
			size = int(a.Type.Bytes())
			scalars++
		}
		bytes = (bytes+size-1)/size*size + size
	}
	return bytes, scalars
}
