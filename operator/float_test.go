package operator

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"autotune/space/expr"
)

const floatOperator = `operator: shift
summary: Adds a number.
shape: [n]
example: 64
parameters:
  epsilon: {type: float, default: 1e-5, min: 0}
  factor: {type: float, default: epsilon*2}
  mode: {type: float, default: 1, choices: [0.5, 1]}
tensors:
  - {name: x, role: input, shape: [n]}
  - {name: eps, type: f32, value: epsilon}
  - {name: y, role: output, shape: [n]}
cost: [8*n]
reference: shift.cu
templates:
  - name: plain
    source: shift.cu
    launch: {block: [64, 1, 1], grid: ["ceil_div(n, 64)", 1, 1]}
`

func floatFiles(edits ...string) fstest.MapFS {
	return fstest.MapFS{
		"op.yaml":  {Data: []byte(strings.NewReplacer(edits...).Replace(floatOperator))},
		"shift.cu": {Data: []byte("extern \"C\" __global__ void shift_reference(const float* x, float eps, float* y) {}\nextern \"C\" __global__ void shift_plain(const float* x, float eps, float* y) {}\n")},
	}
}

func TestFloatParameters(t *testing.T) {
	o := loaded(t, floatFiles())
	bind := func(epsilon string) (*Problem, error) {
		set := map[string]string{"epsilon": epsilon}
		if epsilon == "" {
			set = nil
		}
		return o.Bind(Request{Shape: []int64{64}, Parameters: set}, TypicalLimits())
	}
	usual, err := bind("")
	if err != nil || usual.String() != "shift 64 epsilon=1e-05 factor=2e-05 mode=1.0" {
		t.Fatalf("got %v, %v", usual, err)
	}
	for _, same := range []string{"1e-5", "0.00001", "1E-05", "+1e-5", "0.01e-3"} {
		if p, err := bind(same); err != nil || p.String() != usual.String() {
			t.Errorf("%s: got %v, %v; want %v", same, p, err, usual)
		}
	}
	for text, want := range map[string]string{"-0": "0.0", "0": "0.0", "0.5": "0.5", "1e-300": "1e-300"} {
		if p, err := bind(text); err != nil || p.Parameters[0].Value != want {
			t.Errorf("%s: got %v, %v; want %s", text, p, err, want)
		}
	}
	for text, want := range map[string]string{
		"nan": "`epsilon` is a number; got `nan`", "Inf": "`epsilon` is a number; got `Inf`", "-inf": "`epsilon` is a number", "1e999": "`epsilon` is a number",
		"1x2": "`epsilon` is a number; got `1x2`", "": "", "true": "`epsilon` is a number", "-1e-9": "`epsilon` must be at least 0.0; got -1e-09",
	} {
		if p, err := bind(text); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, %v; want %s", text, p, err, want)
		}
	}
	if _, err := o.Bind(Request{Shape: []int64{64}, Parameters: map[string]string{"mode": "2"}}, TypicalLimits()); err == nil || !strings.Contains(err.Error(), "must be one of 0.5, 1.0; got 2.0") {
		t.Errorf("got %v", err)
	}
	k, err := usual.Kernel(o.Templates[0].Default)
	if err != nil || !slices.Contains(k.Macros, Macro{"EPSILON", "1e-05"}) {
		t.Errorf("macros are %v, %v", k.Macros, err)
	}
	if bits := usual.Arguments[1].Bits(); bits != uint64(math.Float32bits(1e-5)) {
		t.Errorf("the scalar is passed as %x", bits)
	}
	document, err := json.Marshal(o.Parameters[0])
	if err != nil || string(document) != `{"name":"epsilon","type":"float","names":["epsilon"],"default":"1e-5","min":0.0}` {
		t.Errorf("got %s, %v", document, err)
	}
	again, err := o.Bind(usual.Record().Request(), TypicalLimits())
	if err != nil || again.String() != usual.String() {
		t.Errorf("the record gives %v, %v", again, err)
	}
}

// A number's text stays the same through parse and format, and numbers that differ have names that do.
func TestFloatNamesRoundTrip(t *testing.T) {
	s := ParameterSpec{Name: "p", Names: []string{"p"}, Type: FloatParameter}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64().Filter(func(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }).Draw(t, "x")
		name := format([]expr.Value{expr.Float(x)})
		values, err := s.parse(name)
		if err != nil || values[0] != expr.Float(x+0) {
			t.Errorf("%v became %v, %v", name, values, err)
		}
	})
}

func TestFloatParametersThatCannotBe(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"default: 1e-5", "axes: true, default: 1", "op.yaml:6:12: `epsilon`: only integers have a component for each of `axes`"},
		{"min: 0}", "min: .inf}", "op.yaml:6:46: this must be a number"},
		{"min: 0}", "min: much}", "op.yaml:6:46: this must be a number; it is text `much`"},
		{"default: 1e-5", "default: \"'x'\"", "the default of `epsilon`, 'x', is x and not a number"},
		{"default: 1e-5", "default: 1e300*1e300", "is +Inf and not a number"},
	} {
		if _, err := Load(floatFiles(test.old, test.new), "."); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.new, err, test.want)
		}
	}
}
