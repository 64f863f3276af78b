package gpu

import (
	"os"
	"testing"

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/device"
	"autotune/tuner/operator"
)

var testdata = os.DirFS("../cuda/testdata")

// affine is a problem of the tests' operator of f32 alone.
func affine(t *testing.T, n int64, lim operator.Limits) *operator.Problem {
	t.Helper()
	return testProblem(t, "affine", n, lim)
}

// testProblem is a problem of one of the tests' own operators.
func testProblem(t *testing.T, name string, n int64, lim operator.Limits) *operator.Problem {
	t.Helper()
	o, err := operator.Load(testdata, name)
	if err != nil {
		t.Fatal(err)
	}
	problem, err := o.Bind(operator.Request{Shape: []int64{n}}, lim)
	if err != nil {
		t.Fatal(err)
	}
	return problem
}

// testVariant is the kernel that does what the mode says; not compiled yet.
func testVariant(t *testing.T, p *operator.Problem, mode int64) device.Variant {
	t.Helper()
	c := p.Defaults(t.Context())[0]
	s, err := p.Space(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	index, ok := s.Index(space.Configuration{Template: c.Template, Values: space.Values{{Name: "mode", Value: expr.Int(mode)}}})
	if !ok {
		t.Fatalf("no configuration with mode %d", mode)
	}
	c = s.At(index)
	k, err := p.Kernel(c)
	if err != nil {
		t.Fatal(err)
	}
	return device.Variant{Configuration: c, Kernel: k}
}

func testProtocol() device.Protocol {
	p := device.DefaultProtocol()
	p.Samples, p.MinSamples = 12, 3
	return p
}
