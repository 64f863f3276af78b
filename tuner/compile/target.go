package compile

import "fmt"

// Target is the architecture to compile for on a GPU of this compute capability
// (90 for 9.0). Hopper's warpgroup instructions belong to sm_90a alone, which
// NVRTC knows from version 12 on; everywhere else the plain name serves.
func Target(compiler string, capability int) string {
	var version int
	// Of another compiler than NVRTC, version stays 0.
	_, _ = fmt.Sscanf(compiler, "NVRTC %d", &version)
	if capability == 90 && version >= 12 {
		return "sm_90a"
	}
	return fmt.Sprintf("sm_%d", capability)
}
