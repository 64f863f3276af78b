package gputest

import (
	"os"
	"testing"

	"autotune/internal/testneeds"
	"autotune/tuner/device/emulator"
	"autotune/tuner/operator"
)

// proveExtremes proves the defaults of operators on the inputs that only gates try.
func proveExtremes(t *testing.T, v *prover, row func(*operator.Operator) string, of func(*operator.Operator) bool) {
	v.inputs = (*operator.Operator).Extremes
	for _, o := range operators(t) {
		if !of(o) || len(o.Extremes()) == 0 {
			continue
		}
		p, err := bind(o, row(o), o.MathModes[0], v.device.Info().Limits)
		if err != nil {
			t.Fatal(err)
		}
		v.proveAlone(t, p)
	}
	t.Log("\n" + v.tally.String())
}

func TestExtremesAll(t *testing.T) {
	testneeds.Nothing(t)
	v := &prover{device: openEmulator(t, emulator.Options{})}
	only := os.Getenv("ONLY")
	proveExtremes(t, v, func(o *operator.Operator) string { return casesOf(o)[9] }, func(o *operator.Operator) bool { return only == "" || o.Name == only })
}
