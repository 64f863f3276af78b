package operator

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/internal/test/must"
	"autotune/operator/tree"
	"autotune/space"
	"autotune/space/expr"
)

const freeOperator = `
operator: scale
summary: scales
shape: [n, m]
parameters: {by: {default: m}}
derived: {rows: n + by, cells: rows*m, whole: "n % 4 == 0", half: n/2}
tensors:
  - {name: x, role: input, shape: [n, m]}
  - {name: y, role: output, shape: [n, m]}
cost: [8*n*m]
reference: reference.cu
templates:
  - name: open
    source: open.cu
    free: [m, n]
    tunables: {tile: [0, 64]}
    derived: {span: tile if tile > 0 else n, wide: span*2}
    launch: {block: [32, 1, 1], grid: ["ceil_div(n*m, 32)", 1, 1]}
    default: {tile: 0}
  - name: closed
    source: closed.cu
    launch: {block: [32, 1, 1], grid: [1, 1, 1]}
`

func freeFiles(text string) fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	kernel := func(name, body string) *fstest.MapFile {
		return file(`extern "C" __global__ void ` + name + "(const float* x, float* y) {" + body + "}\n")
	}
	return fstest.MapFS{
		"op.yaml": file(text), "reference.cu": kernel("scale_reference", ""), "closed.cu": kernel("scale_closed", ""),
		"open.cu": kernel("scale_open", "int all = N + M + ROWS + CELLS + WHOLE + HALF + SPAN;"),
	}
}

func bindFree(t *testing.T, free []string, shape ...int64) *Problem {
	t.Helper()
	o := loaded(t, freeFiles(freeOperator))
	return bound(t, o, Request{Shape: shape, Free: free})
}

func open(tile int64) space.Configuration {
	return space.Configuration{Template: "open", Values: space.Values{{Name: "tile", Value: expr.Int(tile)}}}
}

// A value that depends on a free (dynamic) dimension becomes a member of the struct of run-time sizes if the kernel
// names the value; all other values become macros. A tunable may decide whether a value depends on a free (dynamic)
// dimension.
func TestSizes(t *testing.T) {
	for name, c := range map[string]struct {
		free  []string
		tile  int64
		sizes string
	}{
		"through derived values":       {[]string{"n"}, 0, "half cells n rows span whole inverse_of_cells inverse_of_n inverse_of_rows inverse_of_span"},
		"a tunable decides":            {[]string{"n"}, 64, "half cells n rows whole inverse_of_cells inverse_of_n inverse_of_rows"},
		"a parameter's default stands": {[]string{"m"}, 0, "cells m inverse_of_cells inverse_of_m"},
		"all":                          {[]string{"m", "n"}, 64, "half cells m n rows whole inverse_of_cells inverse_of_m inverse_of_n inverse_of_rows"},
		"nothing is free":              {nil, 0, ""},
	} {
		k := kernelAt(t, bindFree(t, c.free, 12, 5), open(c.tile))
		var sizes []string
		for _, s := range k.Sizes {
			sizes = append(sizes, s.Name)
			if slices.ContainsFunc(k.Macros, func(m Macro) bool { return m.Name == strings.ToUpper(s.Name) }) {
				t.Errorf("%s: %s is a macro, too", name, s.Name)
			}
		}
		if got := strings.Join(sizes, " "); got != c.sizes {
			t.Errorf("%s: the sizes are %s, want %s", name, got, c.sizes)
		}
	}
	k := kernelAt(t, bindFree(t, []string{"n"}, 12, 5), open(64))
	want := "struct AutotuneSizes { double half; int cells; int n; int rows; int whole; int inverse_of_cells; int inverse_of_n; int inverse_of_rows; };\n" +
		"__constant__ AutotuneSizes autotune_sizes = {6.0, 85, 12, 17, 1, 25264513, 178956970, 126322567};\n" + sizeText +
		"#define HALF (autotune_sizes.half)\n#define CELLS (AutotuneSize{autotune_sizes.cells, autotune_sizes.inverse_of_cells})\n"
	if !strings.HasPrefix(k.Source, want) || !strings.HasSuffix(k.Source, "#line 1\n"+bindFree(t, nil, 12, 5).Operator.Templates[0].Source.Text) {
		t.Errorf("the source is\n%s", k.Source)
	}
}

// A kernel that joins the name of a macro from parts, by ##, uses the macro. A kernel that names a macro only in a
// comment does not use the macro.
func TestNamedMacros(t *testing.T) {
	named := (&Kernel{Source: "int x = W + TILES;", Includes: map[string]string{"a.cuh": "#define AT(X) POSITIONS_##X // of TILES_N"}}).names()
	for macro, want := range map[string]bool{"W": true, "TILES": true, "POSITIONS_H": true, "H": false, "TILES_M": false, "TILES_N": false, "POSITIONS": false} {
		if named(macro) != want {
			t.Errorf("%s: %v", macro, !want)
		}
	}
}

// TestInverse divides by multiplication in the same steps as the C++ code in sizeText.
func TestInverse(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	number := func() uint32 { return uint32(random.Int32()) >> random.IntN(31) }
	for range 200_000 {
		n, by := number(), max(1, number())
		at := map[string]expr.Value{"by": expr.Int(int64(by))}
		inverse := uint32(math.MaxInt32) / by
		if random.IntN(1000) == 0 { // the inverse as a loader computes it
			v, err := inverseOf("by").Formula.code.Eval(at)
			if got, _ := v.AsInt(); err != nil || got != int64(inverse) {
				t.Fatalf("%v, %v, want %d", v, err, inverse)
			}
		}
		if random.IntN(1000) == 0 {
			n = 1 << 31 // the absolute value of the least int
		}
		least := uint32(uint64(n) * uint64(2*inverse) >> 32)
		if n-least*by >= by {
			least++
		}
		if least != n/by {
			t.Fatalf("%d / %d is %d", n, by, least)
		}
	}
}

// Kernels for shapes that differ only in dynamic dimensions differ only in the initial values of the struct of run-time
// sizes.
func TestOneCode(t *testing.T) {
	code := func(shape ...int64) (string, string) {
		k := kernelAt(t, bindFree(t, []string{"n"}, shape...), open(0))
		begin, rest, _ := strings.Cut(k.Source, " = {")
		_, end, _ := strings.Cut(rest, "}")
		return k.Digest(), begin + end + canonical(k.Macros)
	}
	digest, one := code(12, 5)
	other, two := code(15, 5)
	if one != two || digest == other {
		t.Errorf("%s\n%s\n%s\n%s", digest, one, other, two)
	}
	if _, three := code(12, 6); one == three {
		t.Error("another fixed dimension makes the same code")
	}
}

// Freeing dimensions changes the problem: the problem's text differs, and its record binds to a problem with the same
// free dimensions.
func TestFreeIdentity(t *testing.T) {
	p, fixed := bindFree(t, []string{"n", "m"}, 12, 5), bindFree(t, nil, 12, 5)
	if got := p.String(); got != "scale 12x5 by=5 free=n,m" || fixed.String() == got {
		t.Errorf("the problem is %s, and fixed %s", got, fixed)
	}
	r := p.Record()
	again, err := p.Operator.Bind(r.Request(), p.Limits)
	if err != nil || again.String() != p.String() || r.Contradiction() != "" {
		t.Errorf("bound again it is %s, %v; %s", again, err, r.Contradiction())
	}
	if r.Free = nil; r.Contradiction() == "" {
		t.Error("a record whose text alone has free dimensions does not contradict itself")
	}
	k, err := p.Reference()
	if err != nil || len(k.Sizes) > 0 {
		t.Errorf("the reference has sizes %v, %v", k.Sizes, err)
	}
}

// A template whose kernel cannot read a free dimension at run time does not serve the problem, and the sizes of the
// problem must fit a C++ int.
func TestFreeSpace(t *testing.T) {
	count := func(p *Problem) int64 {
		s := spaceOf(t, p)
		return s.Len()
	}
	if n := count(bindFree(t, []string{"n"}, 12, 5)); n != 2 {
		t.Errorf("%d configurations, want 2", n)
	}
	if n := count(bindFree(t, nil, 12, 5)); n != 3 {
		t.Errorf("%d configurations of the fixed problem, want 3", n)
	}
	large := []int64{1 << 20, 1 << 12}
	if p := bindFree(t, []string{"n"}, large...); p.Admits(open(0)) {
		t.Error("cells are 2^32, and an int holds them")
	}
	if p := bindFree(t, nil, large...); !p.Admits(open(0)) {
		t.Error("the fixed problem has none of the limits")
	}
	part, err := bindFree(t, []string{"n"}, 12, 5).Part(Restriction{Templates: []string{"closed"}})
	if err == nil {
		_, err = part.Space(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "asked for are closed (it leaves nothing free)") {
		t.Errorf("the template closed is refused with %v", err)
	}
}

func TestFreeRefused(t *testing.T) {
	for want, free := range map[string][]string{
		"no dimension is called `k`, and only dimensions can be free; there are n, m": {"k"},
		"`by`, and only dimensions":  {"by"},
		"`n` is given as free twice": {"n", "n"},
	} {
		if _, err := bindFree(t, nil, 12, 5).Operator.Bind(Request{Shape: []int64{12, 5}, Free: free}, TypicalLimits()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v is refused with %v, want %s", free, err, want)
		}
	}
	for want, change := range map[string][2]string{
		"`by` is no dimension, and only dimensions can be free": {"free: [m, n]", "free: [by]"},
		"`n` is given twice": {"free: [m, n]", "free: [n, n]"},
		"`n` cannot be free: `-DN={wide}` depends on it; a compiler must know it": {"free: [m, n]", "free: [m, n]\n    flags: ['-DN={wide}']"},
	} {
		_, err := Load(freeFiles(strings.Replace(freeOperator, change[0], change[1], 1)), ".")
		if _, placed := err.(*tree.Error); !placed || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is refused with %v, want %s", change[1], err, want)
		}
	}
}

func merged(a, b map[string]expr.Value) map[string]expr.Value {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// A value that op.yaml lists in `keep` is a constant of the kernel, and the kernel's Formulas contain the condition
// that the value is unchanged.
func TestConditions(t *testing.T) {
	text := strings.Replace(freeOperator, "    derived: {span:", "    keep: [load]\n    constraints: [n < 100, tile < 2*n + m, m > 1]\n    derived: {load: 4 if n % 4 == 0 else 1, lead: load - 1, span:", 1)
	o := loaded(t, freeFiles(text))
	p := bound(t, o, Request{Shape: []int64{12, 5}, Free: []string{"n"}})
	k := kernelAt(t, p, open(64))
	if !slices.Contains(k.Macros, Macro{"LOAD", "4"}) || !slices.Contains(k.Macros, Macro{"LEAD", "3"}) {
		t.Errorf("the macros are %v", k.Macros)
	}
	formulas, err := p.Formulas(open(64))
	must.OK(t, err)
	holds := func(n int64) bool {
		known := map[string]expr.Value{"n": expr.Int(n)}
		for _, d := range o.Derived {
			if known[d.Name], err = d.Formula.code.Eval(merged(p.Values, known)); err != nil {
				t.Fatal(err)
			}
		}
		_, ok := formulas.At(known)
		return ok
	}
	for n, want := range map[int64]bool{12: false, 28: false, 32: true, 33: false, 96: true, 100: false} {
		if holds(n) != want {
			t.Errorf("for n=%d the conditions are %v", n, !want)
		}
	}
	for n, want := range map[int64]string{12: "open load=4", 13: "open load=1"} { // the template closed does not take n at run time
		other := bound(t, o, Request{Shape: []int64{n, 5}, Free: []string{"n"}})
		if kinds := other.Whole().Kinds(); !slices.Equal(kinds, []string{want}) {
			t.Errorf("for n=%d the kinds are %q, want %s", n, kinds, want)
		}
	}
	if _, err := Load(freeFiles(strings.Replace(text, "keep: [load]", "keep: [rows]", 1)), "."); err == nil || !strings.Contains(err.Error(), "`rows` is no derived value of the template") {
		t.Errorf("keep: [rows] is refused with %v", err)
	}
}
