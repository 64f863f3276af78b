package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"autotune/internal/test/must"
	"autotune/space/expr"
)

// withTensors is goodOperator with other tensors, bound to the shape 4x100.
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
	must.OK(t, err)
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

// The default tolerance of a tensor's type applies if the operator gives no tolerance.
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

// Bind reports errors in arguments that depend on the shape.
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

// A scalar argument is passed to kernels in as many bytes as its type has.
func TestScalarBits(t *testing.T) {
	for text, want := range map[string]uint64{
		"{name: k, type: i64, value: -1}": math.MaxUint64, "{name: k, type: i32, value: -1}": math.MaxUint32, "{name: k, type: u16, value: 65535}": 0xffff,
		"{name: k, type: f64, value: 0.1}": math.Float64bits(0.1), "{name: k, value: 0.1}": uint64(math.Float32bits(0.1)), "{name: k, type: f32, value: n}": 0x40800000,
		"{name: k, type: bool, value: n > 3}": 1, "{name: k, type: i8, value: twice}": 1,
	} {
		p, err := withTensors(t, "  - "+text+"\n"+anOutput)
		must.OK(t, err)
		if got := p.Arguments[0].Bits(); got != want {
			t.Errorf("%s is passed as %#x, want %#x", text, got, want)
		}
	}
}

// typedOperator is goodOperator with tensors whose type is chosen by a parameter.
func typedOperator() string {
	return strings.NewReplacer(
		"\naxes:", "\n  element: {type: word, choices: [bf16, f32, f16], default: f32}\naxes:",
		"{name: x,", "{name: x, type: element,",
		"{name: y,", "{name: y, type: element,",
		"tolerance: [0.001, \"1e-5 if math == 'tf32' else 1e-4\"]\n", "tolerance: [0.001]\n",
	).Replace(goodOperator)
}

func TestParameterNamesTypes(t *testing.T) {
	o := loaded(t, operatorFiles(typedOperator()))
	if got := o.Arguments[0].TypeText(); got != "bf16, f32 or f16, by element" {
		t.Errorf("x is of %s", got)
	}
	for element, want := range map[string]string{
		"":     "f32 1600 f32 f32 0.0001",
		"f32":  "f32 1600 f32 f32 0.0001",
		"bf16": "bf16 800 f32 bf16 0.02",
		"f16":  "f16 800 f32 f16 0.005",
	} {
		parameters := map[string]string{"element": element}
		if element == "" {
			parameters = nil
		}
		p, err := o.Bind(Request{Shape: []int64{4, 100}, Parameters: parameters}, Limits{Arch: 90})
		must.OK(t, err)
		x, weight, y := p.Arguments[0], p.Arguments[1], p.Arguments[2]
		if got := fmt.Sprint(x.Type, " ", x.Bytes(), " ", weight.Type, " ", y.Type, " ", y.RTol); got != want {
			t.Errorf("element=%s: %s, want %s", element, got, want)
		}
		k := referenceOf(t, p)
		if name := "f32"; element != "" {
			name = element
			if !strings.Contains(macrosText(k), "ELEMENT="+name) {
				t.Errorf("element=%s: the reference's macros are %s", element, macrosText(k))
			}
		}
	}
}

func TestParameterNamesTypesWrongly(t *testing.T) {
	const words, fixed = "[bf16, f32, f16]", "{name: weight,"
	for _, test := range []struct{ from, to, want string }{
		{fixed, fixed + " type: elements,", "op.yaml:19:26: unknown type `elements`; did you mean `element`?"},
		{fixed, fixed + " type: kernel,", "op.yaml:19:26: unknown type `kernel`; there are f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8, bool, element"},
		{words, "[bf16, fast, f32]", "op.yaml:18:21: `element` is a parameter of words, and its word `fast` is no such type; a parameter that names a tensor's type must have floating types as choices"},
		{words, "[f32, i32]", "op.yaml:18:21: `element` is a parameter of words, and its word `i32` is no such type; a parameter that names a tensor's type must have floating types as choices"},
		{"  - {name: y,", "  - {name: size, type: element, value: w}\n  - {name: y,", "op.yaml:20:24: the scalar `size` has one type, as f32; a parameter cannot name it"},
	} {
		if _, err := Load(operatorFiles(strings.Replace(typedOperator(), test.from, test.to, 1)), "."); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.to, err, test.want)
		}
	}
}

// If a parameter chooses a tensor's type, a kernel may give the type a name of its own, or serve only one type.
func TestSignaturesOfNamedTypes(t *testing.T) {
	for takes, want := range map[string]string{
		"const Element* x, const float* weight, Element* y":        "",
		"const float* x, const float* weight, float* y":            "",
		"const __half* x, const float* weight, __nv_bfloat16* y":   "",
		"const double* x, const float* weight, float* y":           "argument 1, x: the kernel `scale_direct` takes const double*, the operator has a tensor of bf16, f32 or f16, by element, which is __nv_bfloat16*, float* or __half*",
		"const Element* x, const __half* weight, const Element* y": "argument 2, weight: the kernel `scale_direct` takes const __half*, the operator has a tensor of f32",
	} {
		files := operatorFiles(typedOperator())
		files["reference.cu"].Data = []byte("extern \"C\" __global__ void scale_reference(const Element* x, const float* weight, Element* y) {}\n")
		files["direct.cu"].Data = []byte("extern \"C\" __global__ void scale_direct(" + takes + ") {}\n")
		o := loaded(t, files)
		if err := o.CheckSignatures(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", takes, err, want)
		}
	}
}

// A parameter that was added later does not change the name or kernels of a problem with the parameter's default.
func TestLaterParameters(t *testing.T) {
	load := func(text string) *Operator {
		t.Helper()
		return loaded(t, operatorFiles(text))
	}
	bind := func(o *Operator, parameters map[string]string) (string, string) {
		t.Helper()
		p, err := o.Bind(Request{Shape: []int64{4, 100}, Parameters: parameters}, Limits{Arch: 90})
		must.OK(t, err)
		k := referenceOf(t, p)
		if again := p.Record(); again.Contradiction() != "" {
			t.Errorf("%s: its record contradicts itself: %s", p, again.Contradiction())
		}
		return p.String(), macrosText(k)
	}
	before, macros := bind(load(goodOperator), map[string]string{"times": "7"})
	later := load(strings.Replace(typedOperator(), "default: f32}", "default: f32, later: true}", 1))
	for _, parameters := range []map[string]string{{"times": "7"}, {"times": "7", "element": "f32"}} {
		if text, of := bind(later, parameters); text != before || of != macros {
			t.Errorf("%v: %s with %s, want %s with %s", parameters, text, of, before, macros)
		}
	}
	text, of := bind(later, map[string]string{"element": "bf16"})
	if !strings.Contains(text, " element=bf16") || !strings.Contains(of, "ELEMENT=bf16") {
		t.Errorf("%s with %s names no element", text, of)
	}
	_, err := Load(operatorFiles(strings.Replace(typedOperator(), ", default: f32}", ", later: true}", 1)), ".")
	if want := "op.yaml:10:12: `element` has `later: true` and no default: results from before have no value for it"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// orderedOperator has a tensor of four dimensions whose order in memory is chosen by a parameter.
const orderedOperator = `
operator: scale
summary: Doubles.
shape: [n, c, h, w]
parameters:
  layout: {type: word, choices: [nchw, nhwc], default: nchw, later: true}
tensors:
  - {name: x, order: layout, role: input, shape: [n, c, h, w]}
  - {name: y, role: output, shape: [n, c, h, w]}
cost: [8*n*c*h*w]
reference: reference.cu
templates:
  - name: direct
    source: direct.cu
    tunables: {threads: [64]}
    launch: {block: [threads, 1, 1], grid: [1, 1, 1]}
    default: {threads: 64}
`

func orderedProblem(t *testing.T, layout string) *Problem {
	t.Helper()
	o := loaded(t, operatorFiles(orderedOperator))
	p, err := o.Bind(Request{Shape: []int64{2, 3, 4, 5}, Parameters: map[string]string{"layout": layout}}, Limits{Arch: 90})
	must.OK(t, err)
	return p
}

func TestParameterNamesOrder(t *testing.T) {
	for layout, want := range map[string]string{
		"nchw": "scale 2x3x4x5: 2x3x4x5 [0 1 2 3] [0 0 1 2]",
		"nhwc": "scale 2x3x4x5 layout=nhwc: 2x3x4x5, in memory 2x4x5x3 [0 2 3 1] [0 1 0 2]",
	} {
		p := orderedProblem(t, layout)
		x := p.Arguments[0]
		if got := fmt.Sprintf("%s: %s %v %v", p, x.ShapeText(), x.Axes(), x.Coordinates(7)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if y := p.Arguments[1]; y.Order != nil {
			t.Errorf("y, which no parameter orders, has the order %v", y.Order)
		}
		if got := p.Operator.Orders(); !slices.Equal(got, []string{"layout"}) {
			t.Errorf("the parameters that name orders are %v", got)
		}
	}
	if canonical(statements(orderedProblem(t, "nchw").Arguments)) == canonical(statements(orderedProblem(t, "nhwc").Arguments)) {
		t.Error("problems of two orders are one by their digest")
	}
}

func TestParameterNamesOrderWrongly(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"order: layout", "order: layouts", "op.yaml:8:22: unknown order `layouts`; did you mean `layout`?"},
		{"[nchw, nhwc]", "[nchw, chwn]", "op.yaml:8:22: `layout` is a parameter of words, and its word `chwn` is no order of a tensor in memory; write choices: [nchw, nhwc]"},
		{"role: input, shape: [n, c, h, w]", "value: 1", "op.yaml:8:22: `order` has no place here: a scalar is passed by value"},
	} {
		_, err := Load(operatorFiles(strings.Replace(orderedOperator, test.from, test.to, 1)), ".")
		refused(t, test.to, err, test.want)
	}
}

// Coordinates is the inverse of the computation of an element's position in memory, for any order of the axes.
func TestCoordinatesInvert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(1, 300), 1, 5).Draw(t, "shape")
		a := Argument{Shape: shape, Order: orderOf(rapid.SampledFrom([]string{channelsSecond, channelsLast}).Draw(t, "layout"), len(shape))}
		size := int64(1)
		for _, n := range shape {
			size *= n
		}
		index, back := rapid.Int64Range(0, size-1).Draw(t, "index"), int64(0)
		at := a.Coordinates(index)
		for _, axis := range a.Axes() {
			back = back*shape[axis] + at[axis]
		}
		if back != index || a.Order != nil && a.Order[len(shape)-1] != 1 {
			t.Fatalf("element %d of %v in the order %v is %v, which leads back to %d", index, shape, a.Order, at, back)
		}
	})
}

const floatOperator = `operator: shift
summary: Adds a number.
shape: [n]
example: 64
parameters:
  epsilon: {type: float, default: 1e-5, range: [0]}
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

// A float parameter's text stays the same through parse and format, and different numbers have different names.
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
		{"range: [0]", "range: [.inf]", "op.yaml:6:49: this must be a number"},
		{"range: [0]", "range: [much]", "op.yaml:6:49: this must be a number; it is text `much`"},
		{"default: 1e-5", "default: \"'x'\"", "the default of `epsilon`, 'x', is x and not a number"},
		{"range: [0]", "range: [1, 0]", "the range of `epsilon` is not the least value and perhaps the greatest; as [1] or [0, 1]"},
		{"default: 1e-5", "default: 1e300*1e300", "is +Inf and not a number"},
	} {
		_, err := Load(floatFiles(test.old, test.new), ".")
		refused(t, test.new, err, test.want)
	}
}
