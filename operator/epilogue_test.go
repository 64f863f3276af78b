package operator

import (
	"slices"
	"strings"
	"testing"

	"autotune/internal/lists"
	"autotune/internal/test/must"
)

// product binds matmul with the given epilogue to a small shape.
func product(t testing.TB, epilogue string, parameters ...string) (*Problem, error) {
	t.Helper()
	o, err := Find("matmul")
	must.OK(t, err)
	r := Request{Shape: []int64{2, 64, 512, 48}, Parameters: map[string]string{"epilogue": epilogue, "type": "bf16"}}
	for i := 0; i < len(parameters); i += 2 {
		r.Parameters[parameters[i]] = parameters[i+1]
	}
	return o.Bind(r, TypicalLimits())
}

// The tensors of an epilogue are the operator's last arguments, and macros say which of the output's axes each has.
func TestEpilogueOfTensors(t *testing.T) {
	p, err := product(t, " gelu(x*s[] + d[n, f32]) * 0.5 + where(d[n,f32] >= x, r[batch,m,n], u[m,f16])")
	must.OK(t, err)
	const text = "epilogue=gelu(x*s[]+d[n,f32])*0.5+where(d[n,f32]>=x,r[batch,m,n],u[m,f16]) "
	if !strings.Contains(p.String(), text) {
		t.Errorf("%s lacks %s", p, text)
	}
	names := lists.Of(p.Arguments[len(p.Arguments)-4:], func(a Argument) string {
		return a.Name + " " + string(a.Role) + " " + string(a.Type) + " " + FormatShape(a.Shape)
	})
	want := []string{"s weight bf16 1", "d weight f32 48", "r input bf16 2x64x48", "u weight f16 64"}
	if !slices.Equal(names, want) {
		t.Errorf("the arguments end with %q, want %q", names, want)
	}
	k, err := p.Reference()
	must.OK(t, err)
	macros := map[string]string{}
	for _, m := range k.Macros {
		macros[m.Name] = m.Value
	}
	for name, want := range map[string]string{
		"EPILOGUE": "gelu(x * t0 + t1) * 0.5f + where(t1 >= x, t2, t3)", "EPILOGUE_TENSORS": "4", "EPILOGUE_X": "1",
		"EPILOGUE_0_TYPE": "bf16", "EPILOGUE_0_AXES": "0", "EPILOGUE_1_TYPE": "f32", "EPILOGUE_1_AXES": "4",
		"EPILOGUE_2_TYPE": "bf16", "EPILOGUE_2_AXES": "7", "EPILOGUE_3_TYPE": "f16", "EPILOGUE_3_AXES": "2",
	} {
		if macros[name] != want {
			t.Errorf("%s is %q, want %q", name, macros[name], want)
		}
	}
	plain, err := product(t, "x")
	must.OK(t, err)
	more := int64(2*1 + 4*48 + 2*2*64*48 + 2*64)
	named := len(plain.Operator.Epilogue()) > 0 || strings.Contains(plain.String(), "epilogue")
	if p.Bytes != plain.Bytes+more || named {
		t.Errorf("%s moves %d bytes and %s %d", p, p.Bytes, plain, plain.Bytes)
	}
}

// A launch that stores partial sums takes none of the epilogue's tensors, and the launch that adds the sums up takes
// all of the tensors.
func TestEpilogueInLaunches(t *testing.T) {
	p, err := product(t, "x+r[batch,m,n]+d[n]")
	must.OK(t, err)
	for _, template := range p.Operator.Templates {
		plain, _ := p.Operator.plain.Template(template.Name)
		for i, l := range template.Launches {
			want := plain.Launches[i].Arguments
			if slices.Contains(want, "y") {
				want = slices.Concat(want, []string{"r", "d"})
			}
			if !slices.Equal(l.Arguments, want) {
				t.Errorf("%s takes %v, want %v", l.Entry, l.Arguments, want)
			}
			passed := Passed(p.Arguments, Launch{})
			if last := passed[len(passed)-1]; l.Arguments == nil && p.Arguments[last].Name != "d" {
				t.Errorf("%s takes %v", l.Entry, passed)
			}
		}
	}
	// Binding the same operator again, with another shape or epilogue, starts from the operator's own tensors.
	again, err := p.Operator.Bind(Request{Shape: p.Shape, Parameters: map[string]string{"epilogue": "x+q[m]"}}, p.Limits)
	must.OK(t, err)
	if len(again.Arguments) != len(p.Arguments)-1 || again.Arguments[len(again.Arguments)-1].Name != "q" {
		t.Errorf("%v", again.Arguments)
	}
}

func TestEpiloguesThatCannotBe(t *testing.T) {
	for text, says := range map[string]string{
		"x+b[n]":                "names a tensor `b`, and matmul has a tensor of that name; call it otherwise, as b_[n]",
		"x+packed_a[n]":         "matmul has a tensor of that name",
		"x+k[n]":                "matmul has a dimension of that name",
		"x+bias[n]":             "matmul has a tensor of that name",
		"x+type[n]":             "matmul has a parameter of that name",
		"x+batches_a[n]":        "matmul has a derived value of that name",
		"x+v[z]":                "`v[z]`: no dimension is called 'z'; the output has batch, m, n. A type stands last: f32, bf16, f16",
		"x+v[bach]":             "did you mean `batch`?",
		"x+v[f64]":              "no dimension is called 'f64'",
		"x+v[f32,n]":            "no dimension is called 'f32'",
		"x+v[n,m]":              "a tensor has each dimension once, in the output's order: batch,m,n",
		"x+v[m,m]":              "a tensor has each dimension once",
		"x+v[m]+v[n]":           "`v[m]` and `v[n]`: a tensor has the same dimensions and type wherever it is named",
		"x+v[m]+v[m,f32]":       "a tensor has the same dimensions and type",
		"x+x[n]":                "column 3: 'x' is the value that the epilogue begins with, and no tensor",
		"x+v":                   "a tensor has its dimensions behind it, as v[batch,m,n], and a number in memory none, as v[]",
		"x+v[1]":                "column 5: expected ']' or a name within the brackets, found '1'",
		"x+v[n":                 "expected ']' or a name within the brackets, found the end",
		"x+max[n]":              "'max' cannot be the name of a tensor: it means something already",
		"x+mode[n]":             "'mode' cannot be the name of a tensor",
		"x+class[n]":            "'class' cannot be the name of a tensor",
		"x>1":                   "column 2: a comparison stands only in where(), as where(x > 0, x, 0)",
		"where(x,1,2)":          "column 1: where() chooses by a comparison of two numbers, as where(x > 0, x, 0)",
		"where(0<x<1,1,2)":      "where() chooses by a comparison of two numbers",
		"where(x in (1,2),1,2)": "where() chooses by a comparison of two numbers",
		"where(x>1,x>2,1)":      "a comparison stands only in where()",
		"x+where(q[n]>1,1)":     "where() takes at least 3 arguments, not 2",
		"x+f64(x)":              "unknown function 'f64'",
		"x*1e39":                "1e+39 is no number that a float holds",
		"x" + strings.Repeat("+v[batch,m,n]", 80):         "it may have 1000",
		"x+a1[]+a2[]+a3[]+a4[]+a5[]+a6[]+a7[]+a8[]+a9[n]": "`a9[n]` is one more than the 8 tensors",
	} {
		_, err := product(t, text)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "matmul: `epilogue`") {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

// The `axes` of an epilogue must be the axes of the operator's output. An expression may contain tensors only if
// op.yaml gives its parameter `axes`.
func TestAxesOfAnEpilogue(t *testing.T) {
	for axes, says := range map[string]string{
		"[m]": "", "[]": "axes names nothing", "[m, n]": "op.yaml:4:13: `epilogue` has 2 axes, and the output `y` has 1",
	} {
		_, err := Load(operatorFiles(strings.ReplaceAll(`operator: scale
shape: [n]
parameters:
  epilogue: {type: expression, choices: [x], functions: {relu: [1]}, default: x, axes: AXES}
tensors: [{name: x, role: input, shape: [n]}, {name: y, role: output, shape: [n]}]
templates: [{name: direct, launch: {block: [32], grid: [n]}}]
`, "AXES", axes)), ".")
		if says == "" {
			must.OK(t, err)
		} else if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("axes: %s: %v", axes, err)
		}
	}
	for _, of := range []string{"x", "w"} {
		if err := chained.knows(of); err != nil {
			t.Error(err)
		}
	}
	err := chained.knows("w[n]")
	if err == nil || !strings.Contains(err.Error(), "unknown name 'w[n]': there are x, w") {
		t.Errorf("an expression without axes has tensors: %v", err)
	}
}

// The tolerance of a pool's maximum, which is exact, grows only if the epilogue contains arithmetic, which rounds.
func TestEpilogueOfWhatIsExact(t *testing.T) {
	o, err := Find("max_pool2d")
	must.OK(t, err)
	for _, test := range []struct {
		epilogue, kind string
		atol, rtol     float64
	}{
		{"x", "bf16", 0, 0}, {"x*3-1", "f32", 4e-6, 1e-6}, {"x*3-1", "f16", 4e-6, 1e-6 + 1.0/1024},
	} {
		r := Request{Shape: []int64{2, 3, 9, 9}, Parameters: map[string]string{"epilogue": test.epilogue, "type": test.kind}}
		p, err := o.Bind(r, TypicalLimits())
		must.OK(t, err)
		if out := p.Output(); out.ATol != test.atol || out.RTol != test.rtol {
			t.Errorf("%s is compared within %g and %g, want %g and %g", p, out.ATol, out.RTol, test.atol, test.rtol)
		}
	}
}

// Parsing the canonical form of an epilogue returns the same form, and the C++ form contains only arithmetic.
func FuzzEpilogue(f *testing.F) {
	for _, text := range []string{
		"gelu(x + d[n])*s[] + r[batch,m,n,f32]", "where(x<=d[n],f16(x),-x)", "x[", "x+v[n,]", "v[m]-v[m]", "x]", "v[[n]]",
	} {
		f.Add(text)
	}
	o, err := Find("matmul")
	must.OK(f, err)
	s := o.parameter("epilogue")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := s.parse(text)
		if err != nil {
			return
		}
		canonical := s.format(values)
		again, err := s.parse(canonical)
		if err != nil || s.format(again) != canonical {
			t.Fatalf("%q is written %q: %v", text, canonical, err)
		}
		if strings.ContainsAny(s.CUDA(canonical), ";{}[]\"'\\#\n") || strings.ContainsAny(canonical, " \n") {
			t.Fatalf("%q is %q, and %q in C++", text, canonical, s.CUDA(canonical))
		}
	})
}
