package gpu

import (
	"fmt"

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
