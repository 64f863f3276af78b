//go:build cuda && gpu

package gputest

import "testing"

// A race shows on a GPU only by chance.
func TestPlantedFaultsOnTheGPU(t *testing.T) { plantedFaults(t, openSuite(t).device, true) }
