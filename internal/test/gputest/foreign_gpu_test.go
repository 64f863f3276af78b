//go:build cuda && gpu

package gputest

import "testing"

func TestForeignOnTheGPU(t *testing.T) { proveForeign(t, openSuite(t).device, 1, 20) }
