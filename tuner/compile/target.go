package compile

import (
	"fmt"
	"strconv"
	"strings"
)

// Target is the architecture to compile for on a GPU of this compute capability
// (90 for 9.0). Hopper's warpgroup instructions belong to sm_90a alone, which
// NVRTC knows from version 12 on; everywhere else the plain name serves.
func Target(compiler string, capability int) string {
	if capability == 90 && nvrtcMajor(compiler) >= 12 {
		return "sm_90a"
	}
	return fmt.Sprintf("sm_%d", capability)
}

// nvrtcMajor reads the major version of "NVRTC 13.0", 0 if it is none.
func nvrtcMajor(compiler string) int {
	version, ok := strings.CutPrefix(compiler, "NVRTC ")
	if !ok {
		return 0
	}
	major, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(major)
	return n
}
