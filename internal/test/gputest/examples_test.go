package gputest

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/examples"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner/lint"
)

// exampleRows are small problems of odd sizes for each operator under examples/, in the same form as the variable
// cases.
var exampleRows = map[string][]string{
	"csr_matvec":   {"1", "100", "500 per_row=10 band=70"},
	"histogram":    {"1", "1003", "40000 bins=37"},
	"layer_norm":   {"1x3", "7x64"},
	"nbody":        {"1", "75"},
	"normalize":    {"1", "4099"},
	"reduce_sum":   {"1", "10003"},
	"saxpy":        {"1", "1004"},
	"scan":         {"1", "10003"},
	"softmax":      {"3x1", "5x257 result=logarithm"},
	"softmax_long": {"3x1", "2x1032"},
	"sort_runs":    {"512 run=512", "2048 run=1024"},
	"stencil":      {"1x1", "7x13", "19x24 radius=1"},
	"transpose":    {"1x1", "33x70", "24x40"},
}

// loadExamples loads every operator under examples/, and checks that each has rows.
func loadExamples(t *testing.T) []*operator.Operator {
	t.Helper()
	folders, err := fs.Glob(examples.FS, "*/op.yaml")
	must.OK(t, err)
	files, err := fs.Glob(examples.FS, "*.cu")
	must.OK(t, err)
	var all []*operator.Operator
	for _, name := range slices.Concat(folders, files) {
		load := func() (*operator.Operator, error) { return operator.LoadFile(examples.FS, ".", name) }
		if path.Base(name) == "op.yaml" {
			load = func() (*operator.Operator, error) { return operator.Load(examples.FS, path.Dir(name)) }
		}
		o, err := load()
		must.OK(t, err)
		if named, _, _ := strings.Cut(name, "."); strings.TrimSuffix(named, "/op") != o.Name {
			t.Errorf("%s is of the operator %s; let them have one name", name, o.Name)
		}
		if len(exampleRows[o.Name]) == 0 {
			t.Errorf("%s: no rows to prove it on; add some", name)
		}
		o.Named = true // allows to run its Python file
		all = append(all, o)
	}
	if len(all) != len(exampleRows) {
		t.Errorf("examples/ has %d operators, the table %d", len(all), len(exampleRows))
	}
	return all
}

func exampleProblems(t *testing.T, o *operator.Operator, limits operator.Limits) []*operator.Problem {
	t.Helper()
	var problems []*operator.Problem
	if o.Answers != nil && !testneeds.NumPy.Here(t) {
		return nil
	}
	for _, row := range exampleRows[o.Name] {
		p, err := bind(o, row, o.MathModes[0], limits)
		must.OK(t, err)
		problems = append(problems, p)
	}
	return problems
}

// openEmulator opens the emulator, or skips the test in short mode.
func openEmulator(t *testing.T, o emulator.Options) device.Device {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles for some seconds")
	}
	o.CacheDir = testcache.Dir()
	d, err := emulator.Open(o)
	testneeds.CXX.Opened(t, err, emulator.ErrNoCompiler)
	t.Cleanup(func() { d.Close() })
	return d
}

// Each example's defaults, and a random configuration for its last problem, must be correct in several launches.
func TestExamplesOnTheEmulator(t *testing.T) {
	d := openEmulator(t, emulator.Options{})
	v := &prover{device: d, launches: 3}
	for _, o := range endurance.Some(examplesToProve(t), 5) {
		problems := exampleProblems(t, o, d.Info().Limits)
		for i, p := range problems {
			v.drawn = 0
			if i == len(problems)-1 {
				v.drawn = 1
			}
			t.Run(p.String(), func(t *testing.T) { v.proveAlone(t, p.Whole()) })
		}
	}
	t.Log("\n" + v.tally.String())
}

// examplesToProve returns all example operators or, when the tests run again because tools were installed, the examples
// whose reference needs a tool.
func examplesToProve(t *testing.T) []*operator.Operator {
	t.Helper()
	return slices.DeleteFunc(loadExamples(t), func(o *operator.Operator) bool { return testneeds.Again() && o.Answers == nil })
}

// lastOf returns the last problem of a list, or none if the list is empty.
func lastOf(problems []*operator.Problem) []*operator.Problem {
	return problems[max(0, len(problems)-1):]
}

// The examples' default configurations stay within the bounds of their tensors and shared arrays.
func TestExamplesSanitized(t *testing.T) {
	d := openEmulator(t, emulator.Options{Sanitize: true})
	v := &prover{device: d}
	for _, o := range endurance.Some(examplesToProve(t), 3) {
		for _, p := range lastOf(exampleProblems(t, o, d.Info().Limits)) {
			t.Run(p.String(), func(t *testing.T) { v.proveAlone(t, p.Whole()) })
		}
	}
}

// The parameters and signatures of every example are complete, and its default configurations compile.
func TestExamplesAreSound(t *testing.T) {
	limits := emulator.Limits()
	limits.Target = "sm_90"
	nvrtc, err := compile.NVRTC(t.Context())
	if testneeds.NVRTC.Found(t, err, compile.ErrMissing) {
		nvrtc = compile.Cached(testcache.Dir(), nvrtc)
		t.Cleanup(func() { nvrtc.Close() })
	}
	for _, o := range loadExamples(t) {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			p, err := o.Bind(operator.Request{Shape: o.Example}, limits)
			must.OK(t, err)
			var found lint.Report
			found.Describe(p)
			if nvrtc != nil && !testing.Short() {
				testneeds.Headers.Found(t, found.Compile(t.Context(), p, nvrtc, limits.Target), compile.ErrHeaders)
			}
			for _, f := range found.Findings {
				t.Errorf("%s: %s", f.Template, f.Text)
			}
		})
	}
}
