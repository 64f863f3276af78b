package emulator

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/cpu"

	"autotune/device/trial"
	"autotune/operator"
)

// Limits are those of a typical GPU, so that the emulator accepts what such a GPU would;
// only the memory is this machine's.
func Limits() operator.Limits {
	limits := operator.TypicalLimits()
	limits.MemoryBytes = availableMemory()
	return limits
}

var memAvailable = regexp.MustCompile(`(?m)^MemAvailable:\s+(\d+) kB`)

// availableMemory is what the machine could still give away, in bytes.
func availableMemory() int64 {
	text, _ := os.ReadFile("/proc/meminfo") // not on every system
	if m := memAvailable.FindSubmatch(text); m != nil {
		if kb, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
			return kb << 10
		}
	}
	return 4 << 30 // unknown; what any machine today has
}

var modelName = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)

func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	if m := modelName.FindSubmatch(text); m != nil {
		return strings.Join(strings.Fields(string(m[1])), " ")
	}
	return runtime.GOARCH
}

// hostArch names the instruction set that variants are compiled for, since machines with different
// ones may share a cache. Kernels use fused multiply-add most, so that is asked for.
func hostArch() string {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return archFMA
	}
	return runtime.GOARCH
}

const archFMA = "amd64+fma"

// archFlags are the compiler's flags for a name that hostArch gives; any other
// name, as "host", means the plain instruction set.
func archFlags(arch string) []string {
	if arch == archFMA {
		return []string{"-mavx2", "-mfma"}
	}
	return nil
}

// refusal is why a variant is not launched; the zero value if it is.
type refusal struct {
	status  trial.Status
	message string
}

// refuseLaunches says what a GPU's driver would refuse in one of the launches.
func refuseLaunches(all operator.Launches, lim operator.Limits) refusal {
	for _, l := range all {
		r := refusal{trial.LaunchError, launchProblem(l, lim)}
		if r.message == "" {
			r = refusal{trial.Pruned, cooperativeProblem(l, lim)}
		}
		if r.message != "" && len(all) > 1 {
			r.message = l.Entry + ": " + r.message
		}
		if r.message != "" {
			return r
		}
	}
	return refusal{}
}

// launchProblem says what is wrong with a launch by itself; "" if nothing is.
func launchProblem(l operator.Launch, lim operator.Limits) string {
	mostBlock, mostGrid := [3]int64{1024, 1024, 64}, [3]int64{1<<31 - 1, 65535, 65535}
	for i, axis := range []string{"x", "y", "z"} {
		if l.Block[i] < 1 || l.Block[i] > mostBlock[i] {
			return fmt.Sprintf("block.%s is %d; it must be 1 to %d", axis, l.Block[i], mostBlock[i])
		}
		if l.Grid[i] < 1 || l.Grid[i] > mostGrid[i] {
			return fmt.Sprintf("grid.%s is %d; it must be 1 to %d", axis, l.Grid[i], mostGrid[i])
		}
		if c := clusterOf(l)[i]; c < 1 || l.Grid[i]%c != 0 {
			return fmt.Sprintf("cluster.%s is %d; it must divide grid.%s, which is %d", axis, c, axis, l.Grid[i])
		}
	}
	if n := volume(l.Block); n > int64(lim.MaxThreadsPerBlock) {
		return fmt.Sprintf("a block has %d threads; at most %d are possible", n, lim.MaxThreadsPerBlock)
	}
	if l.SharedBytes < 0 || l.SharedBytes > int64(lim.MaxSharedPerBlock) {
		return fmt.Sprintf("a block asks for %d bytes of dynamic shared memory; at most %d are possible", l.SharedBytes, lim.MaxSharedPerBlock)
	}
	if n := volume(clusterOf(l)); n > mostClusterBlocks {
		return fmt.Sprintf("a cluster has %d blocks; at most %d are possible", n, mostClusterBlocks)
	}
	return ""
}

// What a GPU of compute capability 9.0 has room for.
const (
	mostClusterBlocks = 8 // that every GPU with clusters allows
	threadsPerSM      = 2048
	blocksPerSM       = 32
	sharedOfSystem    = 1 << 10 // that a block takes beside its own
)

// stackBytes is the memory of a thread that waits for others: the pages of its stack that it touches, and its state.
const stackBytes = 12 << 10

// cooperativeProblem says that a cooperative grid is too large to run at once; "" if it is not.
func cooperativeProblem(l operator.Launch, lim operator.Limits) string {
	if !l.Cooperative {
		return ""
	}
	threads, blocks := volume(l.Block), volume(l.Grid)
	perSM := min(blocksPerSM, threadsPerSM/((threads+31)/32*32), int64(lim.SharedPerSM)/(l.SharedBytes+sharedOfSystem))
	if most := perSM * int64(lim.SMs); blocks > most {
		return fmt.Sprintf("a cooperative launch of %d blocks: at most %d run at once, %d on each of %d multiprocessors", blocks, most, perSM, lim.SMs)
	}
	if need := blocks * threads * stackBytes; need > lim.MemoryBytes/2 {
		return fmt.Sprintf("a cooperative launch of %d threads, all of which wait for each other: the emulator needs %d MiB for their stacks and has %d", blocks*threads, need>>20, lim.MemoryBytes>>21)
	}
	return ""
}

// clusterOf is a launch's cluster, one block where it has none.
func clusterOf(l operator.Launch) [3]int64 {
	if !l.Clustered() {
		return [3]int64{1, 1, 1}
	}
	return l.Cluster
}

func volume(d [3]int64) int64 { return d[0] * d[1] * d[2] }
