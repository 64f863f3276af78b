package emulator

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/cpu"

	"autotune/device/verify"
	"autotune/operator"
)

// Limits returns a typical GPU's limits, so that the emulator accepts the same kernels; the memory is this machine's.
func Limits() operator.Limits {
	limits := operator.TypicalLimits()
	limits.MemoryBytes = availableMemory()
	return limits
}

func availableMemory() int64 {
	if kb, err := strconv.ParseInt(strings.TrimSuffix(toldBy("/proc/meminfo", "MemAvailable"), " kB"), 10, 64); err == nil {
		return kb << 10
	}
	return 4 << 30 // the memory is unknown; any machine today has this much
}

func cpuModel() string { return cmp.Or(toldBy("/proc/cpuinfo", "model name"), runtime.GOARCH) }

// toldBy returns the value of the first line with this name in one of the system's files, or "" if there is none.
func toldBy(file, name string) string {
	text, _ := os.ReadFile(file) // not on every system
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}

// hostArch names the instruction set that variants are compiled for, because machines with different instruction sets
// may share a cache. The name of the instruction set says whether the CPU has fused multiply-add, which most kernels
// use.
func hostArch() string {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return archFMA
	}
	return runtime.GOARCH
}

const archFMA = "amd64+fma"

// archFlags returns the compiler flags for an instruction set that hostArch names. For a name other than archFMA,
// archFlags returns the flags for an instruction set without extensions.
func archFlags(arch string) []string {
	if arch == archFMA {
		return []string{"-mavx2", "-mfma"}
	}
	return nil
}

// refused says why a GPU could not run one of the launches, or returns "" if it could.
func refused(all operator.Launches, lim operator.Limits) string {
	for _, l := range all {
		message := cmp.Or(verify.Refused(l, lim), cooperativeProblem(l, lim))
		if message != "" && len(all) > 1 {
			message = l.Entry + ": " + message
		}
		if message != "" {
			return message
		}
	}
	return ""
}

// The following constants are the resources of a multiprocessor of compute capability 9.0.
const (
	threadsPerSM   = 2048
	blocksPerSM    = 32
	sharedOfSystem = 1 << 10 // shared memory that the system adds to a block's own
)

// stackBytes is the memory that a waiting thread uses: the touched pages of its stack, and its state.
const stackBytes = 12 << 10

// cooperativeProblem returns a message if a cooperative grid is too large to run all at once, and "" otherwise.
func cooperativeProblem(l operator.Launch, lim operator.Limits) string {
	if !l.Cooperative {
		return ""
	}
	threads, blocks := verify.Volume(l.Block), verify.Volume(l.Grid)
	perSM := min(blocksPerSM, threadsPerSM/((threads+31)/32*32), int64(lim.SharedPerSM)/(l.SharedBytes+sharedOfSystem))
	if most := perSM * int64(lim.SMs); blocks > most {
		return fmt.Sprintf("a cooperative launch of %d blocks: at most %d run at once, %d on each of %d multiprocessors", blocks, most, perSM, lim.SMs)
	}
	if need := blocks * threads * stackBytes; need > lim.MemoryBytes/2 {
		return fmt.Sprintf("a cooperative launch of %d threads, all of which wait for each other: the emulator needs %d MiB for their stacks and has %d", blocks*threads, need>>20, lim.MemoryBytes>>21)
	}
	return ""
}
