package devices

import (
	"fmt"

	"autotune/tuner/operator"
)

// The emulator's rate and the longest evaluation that `--device auto` asks of
// it: with a compilation beside each, a few dozen variants end in a minute.
const (
	emulatedOperationsPerSecond = 1e8
	longestEmulation            = 0.2 // seconds a variant
)

// emulatedSeconds estimates one variant's evaluation on the emulator.
func emulatedSeconds(p *operator.Problem) float64 {
	return (float64(p.Flops) + float64(p.Bytes)/4) / emulatedOperationsPerSecond
}

func roughly(seconds float64) string {
	switch {
	case seconds < 10:
		return fmt.Sprintf("about %.1f seconds", seconds)
	case seconds < 120:
		return fmt.Sprintf("about %.0f seconds", seconds)
	case seconds < 7200:
		return fmt.Sprintf("about %.0f minutes", seconds/60)
	}
	return fmt.Sprintf("about %.0f hours", seconds/3600)
}
