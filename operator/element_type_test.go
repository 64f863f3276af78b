package operator

import (
	"fmt"
	"strings"
	"testing"
)

// typedOperator is goodOperator with tensors whose type a parameter names.
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
		must(t, err)
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
		{"role: input, shape: [n, w]}", "role: input, shape: [n, w], fill: x.npy}", "op.yaml:18:64: a file holds elements of one type; those of `x` are bf16, f32 or f16, by element; give the tensor one type, as f32"},
	} {
		if _, err := Load(operatorFiles(strings.Replace(typedOperator(), test.from, test.to, 1)), "."); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.to, err, test.want)
		}
	}
}

// Kernels spell a type that a parameter names in a way of their own, or serve one of its types.
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

// A parameter that came later changes neither the name nor the kernels of a problem that has its default.
func TestLaterParameters(t *testing.T) {
	load := func(text string) *Operator {
		t.Helper()
		return loaded(t, operatorFiles(text))
	}
	bind := func(o *Operator, parameters map[string]string) (string, string) {
		t.Helper()
		p, err := o.Bind(Request{Shape: []int64{4, 100}, Parameters: parameters}, Limits{Arch: 90})
		must(t, err)
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
