package t1

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"autotune/internal/testneeds"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/device/emulator"
	"autotune/tuner/operator"
)

// Every template of every built-in operator goes out and comes back with the same
// space and, for each configuration, the same launch and macros.
func TestRoundTrip(t *testing.T) {
	var asserted strings.Builder
	operators, err := operator.Operators()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range words(operators) {
		fmt.Fprintf(&asserted, "enum { %s = __COUNTER__ };\n", word)
	}
	for _, o := range operators {
		p, err := o.Bind(operator.Request{Shape: o.Example, Math: "fp32"}, emulator.Limits())
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Space(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for at, part := range s.Parts() {
			t.Run(o.Name+"/"+part.Template, func(t *testing.T) { roundTrip(t, &asserted, p, s, at, part) })
		}
	}
	_, err = exec.LookPath("c++")
	testneeds.CXX.Opened(t, err, exec.ErrNotFound)
	compiler := exec.Command("c++", "-std=c++17", "-w", "-fsyntax-only", "-x", "c++", "-")
	compiler.Stdin = strings.NewReader(asserted.String())
	if said, err := compiler.CombinedOutput(); err != nil {
		t.Errorf("%v: %.2000s", err, said)
	}
}

// T1 has one launch: the first, with the configurations that it is made for, and with the
// workspaces that it takes.
func TestFirstLaunch(t *testing.T) {
	o, err := operator.Find("matmul")
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Bind(operator.Request{Shape: []int64{1, 128, 4096, 256}, Math: "fp32"}, emulator.Limits())
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Space(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		arguments, note string
		split           bool
	}{
		"pipelined_gemm": {"a b bias y largest inverses packed_a packed_b", "the document is not the whole kernel: T1 describes one launch, that of matmul_pipelined_gemm_pack; matmul_pipelined_gemm, matmul_pipelined_gemm_sum must be launched after it", true},
		"gathered_gemm":  {"a b bias y", "the document is not the whole kernel: T1 describes one launch, that of matmul_gathered_gemm; matmul_gathered_gemm_sum must be launched after it", false},
	} {
		template, _ := o.Template(name)
		part, _ := PartOf(s, name)
		x, err := Of(p, template, part, "kernel.cu")
		if err != nil {
			t.Fatal(err)
		}
		var arguments []string
		for _, a := range x.Document.KernelSpecification.Arguments {
			arguments = append(arguments, a.Name)
		}
		if got := strings.Join(arguments, " "); got != want.arguments {
			t.Errorf("%s takes %s, want %s", name, got, want.arguments)
		}
		if !slices.Contains(x.Notes, want.note) {
			t.Errorf("%s: the notes are %q", name, x.Notes)
		}
		unsplit := slices.ContainsFunc(x.Document.ConfigurationSpace.Conditions, func(c condition) bool { return c.Expression == "SPLITS == 1" })
		if unsplit == want.split {
			t.Errorf("%s: the conditions are %v", name, x.Document.ConfigurationSpace.Conditions)
		}
	}
}

// A document cannot say that a kernel takes tensor maps, so it is refused.
func TestMaps(t *testing.T) {
	k := operator.Kernel{Template: "tma", Launches: operator.Launches{{}, {}}}
	if err := sayable(k); err != nil {
		t.Error(err)
	}
	k.Launches[1].Maps = []operator.TensorMap{{At: 1}}
	if err := sayable(k); err == nil || err.Error() != "template tma cannot be a T1 document: it is passed tensor maps, and T1 has none" {
		t.Error(err)
	}
}

// words are the values of tunables and parameters that are words, which kernels' files declare.
func words(operators []*operator.Operator) []string {
	found := map[string]bool{}
	for _, o := range operators {
		for _, parameter := range o.Parameters {
			for _, v := range parameter.Choices {
				found[v.String()] = v.Kind() == expr.KindString
			}
		}
		for _, t := range o.Templates {
			for _, tunable := range t.Tunables {
				for _, v := range tunable.Values {
					found[v.String()] = v.Kind() == expr.KindString
				}
			}
		}
	}
	maps.DeleteFunc(found, func(_ string, word bool) bool { return !word })
	return slices.Sorted(maps.Keys(found))
}

func roundTrip(t *testing.T, asserted *strings.Builder, p *operator.Problem, s *space.Space, at int, part space.Part) {
	template, _ := p.Operator.Template(part.Template)
	x, err := Of(p, template, part, "kernel.cu")
	if errors.Is(err, errMaps) {
		return // as it should be: TestMaps
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := x.Document.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	d, err := Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	source := "__global__ void " + x.Document.KernelSpecification.KernelName + "(const float* x);\n" // its arguments are the document's own
	o, _, err := d.Operator(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	back := loaded(t, o, source)
	q, err := back.Bind(operator.Request{Shape: back.Example}, emulator.Limits())
	if err != nil {
		t.Fatal(err)
	}
	again, err := q.Space(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, end := s.Range(at)
	if again.Len() != end-first {
		t.Fatalf("%d configurations, want %d\n%s", again.Len(), end-first, o.YAML())
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		c := s.At(first + random.Int64N(end-first))
		there := space.Configuration{Template: x.Document.KernelSpecification.KernelName}
		for _, v := range c.Values {
			there.Values = append(there.Values, space.Value{Name: p.Operator.Macros.Macro(v.Name), Value: plain(v.Value)})
		}
		if _, ok := again.Index(there); !ok {
			t.Fatalf("%s is not there any more", c)
		}
		k, err := p.Kernel(c)
		if err != nil {
			t.Fatal(err)
		}
		l, err := q.Kernel(there)
		if err != nil {
			t.Fatal(err)
		}
		was := k.Launches[0]
		was.Cluster = [3]int64{} // T1 has none
		if was.String() != l.Launches[0].String() {
			t.Fatalf("%s is launched with %+v, was %+v", c, l.Launches[0], was)
		}
		asserted.WriteString(assertions(k, x.Macros))
	}
}

// assertions are C++ that compiles if the macros of a file, with those of a
// configuration's tunables, are what the configuration's kernel is compiled with.
func assertions(k operator.Kernel, macros []operator.Macro) string {
	var defined, asserted, gone strings.Builder
	formulas := map[string]string{}
	for _, m := range macros {
		formulas[m.Name] = m.Value
		fmt.Fprintf(&defined, "#define %s %s\n", m.Name, m.Value)
	}
	for _, m := range k.Macros {
		fmt.Fprintf(&gone, "#undef %s\n", m.Name)
		if value, there := formulas[m.Name]; there && value == m.Value {
			continue // an expression may mean nothing by itself
		} else if there {
			fmt.Fprintf(&asserted, "static_assert(%s == %s, \"%s\");\n", m.Name, m.Value, m.Name)
		} else {
			fmt.Fprintf(&defined, "#define %s %s\n", m.Name, m.Value)
		}
	}
	return defined.String() + asserted.String() + gone.String()
}

// The Python that is written means what was read.
func TestPythonMeansTheSame(t *testing.T) {
	same := func(name string) string { return name }
	for _, text := range []string{
		"a + b*a - -b", "a // b % 3", "a / b", "2**b", "not a == b or a < b <= 7", "a in (1, 2, b)", "a not in [1]", "a if b > 2 else -a",
		"ceil_div(a, b)", "max(a, b, 3) + min(a, 2)", "abs(a - 9) + int(a/b) + round(a/b)", "bool(a) and b != 3", "'x' if a > 3 else 'y'",
	} {
		e := expr.MustParse(text)
		written, err := python(same).write(e.Root())
		if err != nil {
			t.Fatal(err)
		}
		again, err := expr.Parse(unbracketed(written))
		if err != nil {
			t.Fatalf("%s became %s: %v", text, written, err)
		}
		for a := int64(-3); a <= 9; a++ {
			for b := int64(1); b <= 4; b++ {
				env := map[string]expr.Value{"a": expr.Int(a), "b": expr.Int(b)}
				want, _ := e.Eval(env)
				got, err := again.Eval(env)
				if err != nil || !got.Equal(want) {
					t.Fatalf("%s became %s: a=%d b=%d gives %v (%v), not %v", text, written, a, b, got, err, want)
				}
			}
		}
	}
}

func TestUnbracketed(t *testing.T) {
	for text, want := range map[string]string{"(a + b)": "a + b", "(a) + (b)": "(a) + (b)", "a": "a", "((a))": "(a)"} {
		if got := unbracketed(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}
