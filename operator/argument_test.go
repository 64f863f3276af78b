package operator

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// withTensors is goodOperator with other tensors, bound to 4x100.
func withTensors(t *testing.T, tensors string) (*Problem, error) {
	t.Helper()
	before, rest, _ := strings.Cut(goodOperator, "tensors:\n")
	_, after, _ := strings.Cut(rest, "inputs:")
	o := loaded(t, operatorFiles(before+"tensors:\n"+tensors+"inputs:"+after))
	return o.Bind(Request{Shape: []int64{4, 100}}, TypicalLimits())
}

const anOutput = "  - {name: y, role: output, shape: [n, w]}\n"

func TestArguments(t *testing.T) {
	p, err := withTensors(t, `  - {name: x, role: input, type: f16, shape: [n, w], fill: "uniform(-w, 2*w)"}
  - {name: order, role: input, type: i32, shape: [w], fill: permutation}
  - {name: half, role: weight, type: bf16, shape: [w]}
  - {name: count, type: i64, value: n*w - 500}
  - {name: slope, type: f32, value: 1/w}
  - {name: twice_it, type: bool, value: twice}
  - {name: least, type: i8, value: -128}
  - {name: sums, role: inout, type: u32, shape: [n]}
  - {name: spare, role: workspace, type: u8, shape: [3*w]}
  - {name: y, role: output, type: f16, shape: [n, w], tolerance: [0.001, 1/n]}
  - {name: z, role: output, type: f64, shape: [n]}
  - {name: code, role: output, type: i64, shape: [n], tolerance: [2]}
`)
	must(t, err)
	want := []string{
		"x input f16 800 bytes {uniform [-100 200]}", "order input i32 400 bytes {permutation []}", "half weight bf16 200 bytes",
		"count scalar i64 0xffffffffffffff9c", "slope scalar f32 0x3c23d70a", "twice_it scalar bool 0x1", "least scalar i8 0x80",
		"sums inout u32 16 bytes within 0, 0", "spare workspace u8 300 bytes", "y output f16 800 bytes within 0.001, 0.25",
		"z output f64 32 bytes within 0.001, 1e-05", "code output i64 32 bytes within 2, 0",
	}
	for i, a := range p.Arguments {
		got := fmt.Sprintf("%s %s %s", a.Name, a.Role, a.Type)
		if a.Role == Scalar {
			got += fmt.Sprintf(" %#x", a.Bits())
		} else {
			got += fmt.Sprintf(" %d bytes", a.Bytes())
		}
		if a.Fill != nil {
			got += fmt.Sprintf(" {%s %v}", a.Fill.Distribution, a.Fill.Numbers)
		}
		if a.Role.Compared() {
			got += fmt.Sprintf(" within %v, %v", a.ATol, a.RTol)
		}
		if got != want[i] {
			t.Errorf("got  %s\nwant %s", got, want[i])
		}
	}
	if p.Output().Name != "sums" || p.MemoryBytes() != 800+400+200+16+300+800+32+32 {
		t.Errorf("the reference has a thread for each of %s; all take %d bytes", p.Output().Name, p.MemoryBytes())
	}
}

// A type's own tolerance holds where the operator says nothing.
func TestDefaultTolerances(t *testing.T) {
	for kind, want := range map[Type]float64{F64: 1e-10, F32: 1e-4, F16: 5e-3, BF16: 2e-2, F8E4M3: 0.1, F8E5M2: 0.2, I8: 0, U64: 0, Bool: 0} {
		text := strings.Replace(goodOperator, "tolerance: [0.001, \"1e-5 if math == 'tf32' else 1e-4\"]\n", "", 1)
		o := loaded(t, operatorFiles(strings.Replace(text, "role: output", "role: output, type: "+string(kind), 1)))
		p := bound(t, o, Request{Shape: []int64{4, 100}})
		if out := p.Output(); out.ATol != want || out.RTol != want {
			t.Errorf("%s is compared within %v and %v, want %v", kind, out.ATol, out.RTol, want)
		}
	}
}

// What only a shape can get wrong is refused when it is bound.
func TestArgumentsThatCannotBe(t *testing.T) {
	for _, test := range []struct{ tensor, want string }{
		{"{name: k, type: i8, value: w + 28}", "the scalar `k`, w + 28, is 128: i8 holds -128 to 127"},
		{"{name: k, type: u8, value: -n}", "the scalar `k`, -n, is -4: u8 holds 0 to 255"},
		{"{name: k, type: u64, value: -1}", "is -1: u64 holds 0 to 9223372036854775807"},
		{"{name: k, type: bool, value: n}", "is 4: bool holds 0 to 1"},
		{"{name: k, type: i32, value: n/w}", "is 0.04: i32 takes an integer"},
		{"{name: k, type: i64, value: math}", "i64 takes an integer"},
		{"{name: k, value: math}", "f32 takes a number"},
		{"{name: k, value: 1e39*n}", "f32 holds numbers up to 3.4e+38"},
		{"{name: k, type: f16, value: n}", "a scalar of type f16 cannot be passed; use f32"},
		{"{name: k, type: i32, value: n // (n - 4)}", "k = n // (n - 4) cannot be computed for this problem: "},
		{"{name: k, role: workspace, shape: [n - 5]}", "dimension 1 of `k`, n - 5, would be -1"},
		{"{name: k, role: inout, shape: [n - 4]}", "dimension 1 of `k`, n - 4, would be 0"},
		{"{name: k, role: output, shape: [n], tolerance: [-n]}", "atol of `k`, -n, is -4 and not a tolerance"},
		{"{name: k, role: output, shape: [n], tolerance: [0, math]}", "rtol of `k`, math, is "},
		{"{name: k, role: input, shape: [n], fill: \"uniform(w, n)\"}", "`k` would be filled with uniform from 100 to 4"},
		{"{name: k, role: input, shape: [n], fill: \"normal(0, math)\"}", "the deviation of `k`, math, is "},
		{"{name: k, role: input, shape: [n], fill: \"constant(1e301)\"}", "the value of `k`, 1e+301, is 1e+301 and not a number"},
	} {
		text := strings.Replace(goodOperator, "example: 4x100 kernel=3x5 twice=true\n", "", 1)
		o, err := Load(operatorFiles(strings.Replace(text, "inputs:", "  - "+test.tensor+"\ninputs:", 1)), ".")
		if err != nil {
			t.Error(err)
			continue
		}
		_, err = o.Bind(Request{Shape: []int64{4, 100}}, TypicalLimits())
		var fault *RequestError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\ngot  %v\nwant %s", test.tensor, err, test.want)
		}
	}
}

// Scalars are passed in the bytes of their type.
func TestScalarBits(t *testing.T) {
	for text, want := range map[string]uint64{
		"{name: k, type: i64, value: -1}": math.MaxUint64, "{name: k, type: i32, value: -1}": math.MaxUint32, "{name: k, type: u16, value: 65535}": 0xffff,
		"{name: k, type: f64, value: 0.1}": math.Float64bits(0.1), "{name: k, value: 0.1}": uint64(math.Float32bits(0.1)), "{name: k, type: f32, value: n}": 0x40800000,
		"{name: k, type: bool, value: n > 3}": 1, "{name: k, type: i8, value: twice}": 1,
	} {
		p, err := withTensors(t, "  - "+text+"\n"+anOutput)
		must(t, err)
		if got := p.Arguments[0].Bits(); got != want {
			t.Errorf("%s is passed as %#x, want %#x", text, got, want)
		}
	}
}
