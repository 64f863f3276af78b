package emulator

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/cpu"

	"autotune/tuner/operator"
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

// hostArch names what variants are compiled for: a program must not outlive its
// machine's instruction set in a cache that several machines share. Fused
// multiply-add is the instruction that kernels are full of, so it is asked for.
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
