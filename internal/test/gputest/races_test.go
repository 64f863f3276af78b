package gputest

import (
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
)

// The default kernels of the built-in operators have no data race, and the emulator reports no false race for barriers
// of all kinds, asynchronous copies, tensor core products and flags between blocks. Unless AUTOTUNE_TEST_FULL is set,
// the test checks only one kernel of each file. TestExamplesSanitized checks the examples for data races.
func TestNoDataRaces(t *testing.T) {
	d := openEmulator(t, emulator.Options{})
	files := map[string]bool{} // of the kernels that were looked at
	for _, o := range operators(t) {
		row := casesOf(o)[9]
		if o.Name == "conv_transpose1d" {
			row = casesOf(o)[8] // row 9 has 160 phases of 400 taps
		}
		p, err := bind(o, row, o.MathModes[0], d.Info().Limits)
		must.OK(t, err)
		choices := slices.DeleteFunc(p.Defaults(t.Context()), func(c space.Configuration) bool {
			template, _ := o.Template(c.Template)
			seen := files[template.Source.File]
			files[template.Source.File] = true
			return seen && !endurance.Full()
		})
		if len(choices) == 0 {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			lookForRaces(t, d, p, choices)
		})
	}
}

func lookForRaces(t *testing.T, d device.Device, p *operator.Problem, choices []space.Configuration) {
	t.Helper()
	reference, err := p.Reference()
	must.OK(t, err)
	b, err := d.Compiler().Compile(t.Context(), compile.Request{Kernel: reference, Arch: d.Arch()})
	must.OK(t, err)
	s, err := d.Open(t.Context(), p, b, protocol(p.Operator.Inputs[0]))
	must.OK(t, err)
	defer s.Close()
	for _, c := range choices {
		k, err := p.Kernel(c)
		must.OK(t, err)
		o, looked, err := s.(device.RaceFinder).Races(t.Context(), device.Variant{Configuration: c, Kernel: k})
		must.OK(t, err)
		if o.Status != trial.OK || !strings.HasPrefix(looked, "no data race in 2 launches") {
			t.Errorf("%s\n  %s: %s: %s%s", p, c, o.Status, o.Message, looked)
		}
	}
}
