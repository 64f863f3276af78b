//go:build cuda && gpu

package gputest

import "testing"

// The planted data race need not be found on a GPU, where a race changes results only by chance.
func TestPlantedFaultsOnTheGPU(t *testing.T) { plantedFaults(t, openSuite(t).device, true) }
