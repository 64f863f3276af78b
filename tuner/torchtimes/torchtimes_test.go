package torchtimes

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/answers"
	"autotune/internal/python"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner/final"
)

// fake makes Python use a fake GPU, on which PyTorch's calls take known times.
func fake(t *testing.T) {
	t.Helper()
	testneeds.Torch.Need(t)
	folder, err := filepath.Abs("testdata/fake")
	must.OK(t, err)
	t.Setenv("PYTHONPATH", folder)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
}

func bind(t *testing.T, name string, shape []int64, set map[string]string) *operator.Problem {
	t.Helper()
	o, err := operator.Find(name)
	must.OK(t, err)
	p, err := o.Bind(operator.Request{Shape: shape, Parameters: set}, operator.TypicalLimits())
	must.OK(t, err)
	return p
}

func convolution(t *testing.T) *operator.Problem {
	return bind(t, "conv2d", []int64{2, 6, 9, 8}, map[string]string{"c_out": "4", "kernel": "3", "stride": "2x1", "groups": "2"})
}

// leaving returns a function that pretends to write the winner's inputs and outputs: the returned function only
// returns the folder dir.
func leaving(dir string) func() string { return func() string { return dir } }

// Each way to call PyTorch, such as torch_eager, calls PyTorch as its name says. If a way to call PyTorch fails, it is
// left out with the first line of its error.
func TestTimes(t *testing.T) {
	fake(t)
	torch := New(0, 0, Ways()...) // one process for all problems
	for _, c := range []struct {
		p    *operator.Problem
		want map[string]float64
		left string
	}{
		{convolution(t), map[string]float64{Eager: 3, EagerFP32: 4}, "torch_compile is left out: RuntimeError: no compiler"},
		{bind(t, "matmul", []int64{1, 3, 4, 5}, nil), map[string]float64{Eager: 5}, "torch_compile is left out: RuntimeError: no compiler"},
	} {
		r, err := torch.Start(t.Context(), c.p, device.ProtocolFor(c.p.Operator), leaving(""))
		must.OK(t, err)
		if got := strings.Join(r.Left(), "; "); got != c.left {
			t.Errorf("%s: left %q, want %q", c.p, got, c.left)
		}
		if len(r.Names()) != len(c.want) {
			t.Errorf("%s: %v", c.p, r.Names())
		}
		for _, name := range slices.Concat(r.Names(), r.Names()) { // the settings of one way must not affect another
			if ms, err := r.Time(t.Context(), name); err != nil || ms != c.want[name] {
				t.Errorf("%s: %s takes %v ms, %v; want %v", c.p, name, ms, err, c.want[name])
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// PyTorch's output for the winner's inputs is compared with the winner's output; both tensors are read from files.
func TestOutputs(t *testing.T) {
	fake(t)
	p := convolution(t)
	tolerance := p.Arguments[slices.IndexFunc(p.Arguments, func(a operator.Argument) bool { return a.Name == "y" })]
	torch := New(0, 0, Ways()...)
	for _, c := range []struct {
		weight, output float32 // first elements; the others are 0 and 0.5
		want           final.Outputs
	}{
		{0, 0.5, final.Outputs{}},
		{0, 0.5 + float32(tolerance.ATol)/2, final.Outputs{MaxAbsError: tolerance.ATol / 2}},
		{2, -1.5, final.Outputs{MaxAbsError: 2, Differing: 2}},
	} {
		left := t.TempDir()
		for _, a := range p.Arguments {
			values := make([]float32, a.Elements)
			name := answers.InputName(a)
			switch {
			case a.Name == "y":
				for i := range values {
					values[i] = 0.5
				}
				name, values[0] = answers.OutputName(a), c.output
			case a.Role == operator.Weight && a.Elements > 0:
				values[0] = c.weight
			}
			data, err := binary.Append(nil, binary.LittleEndian, values)
			must.OK(t, errors.Join(err, os.WriteFile(filepath.Join(left, name), data, 0o600)))
		}
		r, err := torch.Start(t.Context(), p, device.ProtocolFor(p.Operator), leaving(left))
		must.OK(t, err)
		c.want.Elements, c.want.ATol, c.want.RTol = 192, tolerance.ATol, tolerance.RTol
		for _, name := range []string{Eager} {
			got := r.Outputs(name)
			if got == nil || math.Abs(got.MaxAbsError-c.want.MaxAbsError) > 1e-7 {
				t.Fatalf("%s: %+v, want %+v; %v", name, got, c.want, r.Left())
			}
			got.MaxAbsError = c.want.MaxAbsError
			if *got != c.want || got.Agree() != (c.want.Differing == 0) {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		}
		if want := "the output of torch_eager_fp32 was not compared: ValueError: it has the shape (2, 4), and the winner's (2, 4, 4, 6)"; !slices.Contains(r.Left(), want) || r.Outputs(EagerFP32) != nil {
			t.Errorf("left %q, want %q", r.Left(), want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestMissing(t *testing.T) {
	fake(t)
	p, left := convolution(t), 0
	var absent *final.AbsentError // the user need not be told of this error
	start := func(p *operator.Problem) string {
		_, err := New(0, 0, Eager).Start(t.Context(), p, device.ProtocolFor(p.Operator), func() string { left++; return "" })
		if told := strings.HasPrefix(err.Error(), "AttributeError"); errors.As(err, &absent) == told {
			t.Errorf("%v is told of: %v", err, told)
		}
		return err.Error()
	}
	if got := start(bind(t, "matmul", []int64{2, 3, 4, 5}, map[string]string{"triangular_a": "1"})); !strings.Contains(got, "names no function of PyTorch's") {
		t.Error(got)
	}
	for _, function := range []string{"load", "absent"} { // torch.load would run code from a file
		hostile := bind(t, "max_pool2d", []int64{2, 3, 9, 9}, nil)
		own, renamed := *hostile.Operator, *hostile.Operator.PyTorch
		renamed.Calls = []operator.TorchCall{{Function: function, Arguments: renamed.Calls[0].Arguments}}
		own.PyTorch, hostile.Operator = &renamed, &own
		if got := start(hostile); got != "AttributeError: PyTorch has no function of tensors called "+function {
			t.Error(got)
		}
	}
	left = 0
	t.Setenv("FAKE_GPU", "none")
	if got := start(p); got != "PyTorch 9.8.7 finds no GPU" {
		t.Error(got)
	}
	t.Setenv("PYTHONPATH", t.TempDir())
	if got := start(p); got != "python3 has no torch" && !strings.Contains(got, "finds no GPU") {
		t.Error(got)
	}
	t.Setenv("PATH", t.TempDir())
	if got := start(p); got != python.ErrMissing.Error() {
		t.Error(got)
	}
	if left != 0 {
		t.Error("tensors were put into files for a PyTorch that is not there")
	}
}

// If PyTorch's process dies, the error is a single line.
func TestDies(t *testing.T) {
	fake(t)
	t.Setenv("FAKE_GPU", "dies")
	p := convolution(t)
	_, err := New(0, 0, Eager).Start(t.Context(), p, device.ProtocolFor(p.Operator), leaving(""))
	var ended *python.EndedError
	if !errors.As(err, &ended) || err.Error() != "ended without an answer (exit status 3): the GPU is gone" {
		t.Error(err)
	}
}

// If torch.compile is too slow, it is left out, and the other ways to call PyTorch are timed all the same.
func TestCompilesTooLong(t *testing.T) {
	fake(t)
	t.Setenv("FAKE_COMPILER", "slow")
	p := convolution(t)
	torch := New(0, 10*time.Millisecond, Eager, Compile)
	defer torch.Close()
	torch.Prepare(t.Context(), p, device.ProtocolFor(p.Operator))
	r, err := torch.Start(t.Context(), p, device.ProtocolFor(p.Operator), leaving(""))
	must.OK(t, err)
	if left := r.Left(); !slices.Equal(r.Names(), []string{Eager}) || len(left) != 1 || left[0] != "torch_compile is left out: it was still compiling when the search had waited for it" {
		t.Errorf("%q is timed, left %q", r.Names(), left)
	}
	if ms, err := r.Time(t.Context(), Eager); ms != 3 || err != nil {
		t.Error(ms, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A preparation of PyTorch that is under way ends when another problem is to be prepared. If preparing the same problem
// is requested twice, it is prepared only once.
func TestPreparesAnother(t *testing.T) {
	fake(t)
	t.Setenv("FAKE_COMPILER", "slow")
	torch := New(0, 0, Eager, Compile)
	defer torch.Close()
	first, second := convolution(t), bind(t, "matmul", []int64{1, 3, 4, 5}, nil)
	torch.Prepare(t.Context(), first, device.ProtocolFor(first.Operator))
	begun := torch.prepared
	torch.Prepare(t.Context(), first, device.ProtocolFor(first.Operator))
	if torch.prepared != begun {
		t.Error("the problem is prepared twice")
	}
	torch.names = []string{Eager}
	r, err := torch.Start(t.Context(), second, device.ProtocolFor(second.Operator), leaving(""))
	if err != nil || !slices.Equal(r.Names(), []string{Eager}) {
		t.Fatal(err)
	}
	if ms, err := r.Time(t.Context(), Eager); ms != 5 || err != nil {
		t.Error(ms, err)
	}
}

// For a problem in channels-last layout, PyTorch gets tensors in that layout.
func TestOwnLayout(t *testing.T) {
	p := bind(t, "conv2d", []int64{2, 6, 9, 8}, map[string]string{"c_out": "4", "layout": "nhwc"})
	for name, given := range callOf(p.Torch()[0], "").Tensors {
		if len(given.Shape) == 4 && !slices.Equal(given.Order, []int{0, 2, 3, 1}) {
			t.Errorf("%s lies in the order %v", name, given.Order)
		}
	}
}
