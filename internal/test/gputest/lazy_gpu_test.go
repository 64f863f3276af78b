//go:build cuda && gpu

package gputest

import "testing"

// TestLazyKernelsOnTheGPU tests launches of 40 ms, launches of 1 ms, and launches so short that they are timed in
// batches.
func TestLazyKernelsOnTheGPU(t *testing.T) {
	for _, rounds := range []string{"100000", "10000", "4000"} {
		lazyLoses(t, openSuite(t).device, 1<<23, map[string]string{"rounds": rounds})
		lazyLoses(t, openSuite(t).device, 65536, map[string]string{"rounds": rounds})
	}
}
