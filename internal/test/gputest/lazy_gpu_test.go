//go:build cuda && gpu

package gputest

import "testing"

// Lazy kernels, which skip work, are tested with launches of 40 ms, of 1 ms, and so short that several launches are
// timed together.
func TestLazyKernelsOnTheGPU(t *testing.T) {
	for _, rounds := range []string{"100000", "10000", "4000"} {
		lazyLoses(t, openSuite(t).device, 1<<23, map[string]string{"rounds": rounds})
		lazyLoses(t, openSuite(t).device, 65536, map[string]string{"rounds": rounds})
	}
}
