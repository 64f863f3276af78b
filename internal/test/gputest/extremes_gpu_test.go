//go:build cuda && gpu

package gputest

import "testing"

func TestExtremesOnTheGPU(t *testing.T) {
	for _, row := range []int{0, 4, 9} {
		proveExtremes(t, &prover{device: openSuite(t).device}, row, func(string) bool { return true })
	}
}
