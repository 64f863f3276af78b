//go:build cuda && gpu

package gputest

import "testing"

// On a GPU, a race shows only by chance.
func TestPlantedFaultsOnTheGPU(t *testing.T) { plantedFaults(t, openSuite(t).device, true) }
