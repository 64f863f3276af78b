package operator

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// outsideOperator is an operator with all kinds of kernels beside those of templates: a kernel that fills inputs, a
// kernel that compares outputs, and a reference.
const outsideOperator = `operator: op
summary: For tests.
shape: [n]
tensors:
  - {name: start, role: input, type: i32, shape: [n + 1], fill: fill.cu}
  - {name: x, role: input, shape: [n]}
  - {name: column, role: inout, type: u8, shape: [2*n], fill: fill.cu}
  - {name: n32, type: i32, value: n}
  - {name: w, role: input, shape: [n], fill: other.cu}
  - {name: y, role: output, shape: [n]}
cost: [n]
tolerance: compare.cu
reference: ref.py
templates:
  - {name: t, source: t.cu, launch: {block: [32, 1, 1], grid: [1, 1, 1]}}
`

func outsideFiles(edits ...string) fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"op.yaml": file(strings.NewReplacer(edits...).Replace(outsideOperator)),
		"fill.cu": file("void op_fill("), "other.cu": file("void op_fill(\nvoid other("), "compare.cu": file("void op_compare("), "t.cu": file("void op_t("),
		"reference.cu": file("void op_reference("), "ref.py": file("def reference(x):\n    return x\n"),
	}
}

func outside(t *testing.T, files fstest.MapFS) *Problem {
	t.Helper()
	o := loaded(t, files)
	return bound(t, o, Request{Shape: []int64{7}})
}

func TestOutside(t *testing.T) {
	p := outside(t, outsideFiles())
	var fillings []string
	for _, f := range p.Fillings() {
		fillings = append(fillings, fmt.Sprint(f.Kernel.Launches[0].Entry, f.Tensors, f.Arguments, f.Kernel.Launches[0].Grid))
	}
	if got := strings.Join(fillings, "; "); got != "op_fill[0 2] [0 2 3] [1 1 1]; op_fill[4] [3 4] [1 1 1]" {
		t.Errorf("fillings %s", got)
	}
	k, there := p.Comparing()
	if !there || k.Launches[0].Entry != "op_compare" {
		t.Errorf("comparing by %v %s", there, k.Launches[0].Entry)
	}
	o := p.Operator
	if o.Right != "ref.py, run by python3" || o.Answers.Seconds != 300 || o.Named {
		t.Errorf("%s, %+v", o.Right, o.Answers)
	}
	if _, err := p.Reference(); err == nil || !strings.Contains(err.Error(), "there is no reference kernel: what is right is said by ref.py, run by python3") {
		t.Error(err)
	}
}

func TestOutsideFaults(t *testing.T) {
	const x, python = "name: x, role: input,", "reference: ref.py"
	for _, tt := range []struct{ old, new, want string }{
		{x, x + " fill: {npy: x.npy},", "op.yaml:6:34: this must be text; it is a mapping"},
		{x, x + " fill: nofill.cu,", "op.yaml:6:34: there is no source file `nofill.cu`; did you mean `fill.cu`?"},
		{x, x + " fill: t.cu,", "op.yaml:6:34: `t.cu` does not define `op_fill`; its entry point is extern \"C\" __global__ void op_fill(...)"},
		{"name: y, role: output", "name: y, role: output, fill: fill.cu", "op.yaml:10:35: only what is read is filled; `y` is an output"},
		{python, "reference: u", "op.yaml:13:12: unknown reference: no file and no template `u`"},
		{"tolerance: compare.cu", "tolerance: t.cu", "op.yaml:12:12: `t.cu` does not define `op_compare`"},
	} {
		_, err := Load(outsideFiles(tt.old, tt.new), ".")
		refused(t, tt.new, err, tt.want)
	}
}

// ReferenceDigest changes whenever one of its parts changes, such as the reference, a fill or a comparison.
func TestReferenceDigest(t *testing.T) {
	digest := func(p *Problem) string {
		t.Helper()
		d, err := p.ReferenceDigest()
		if err != nil || len(d) != 64 {
			t.Fatal(d, err)
		}
		return d
	}
	if once, again := digest(scale(t)), digest(scale(t)); once != again {
		t.Error("a problem that is bound twice has two digests")
	}
	seen := map[string]string{}
	for what, change := range map[string]func(fstest.MapFS){
		"nothing":     func(fstest.MapFS) {},
		"the fill":    func(f fstest.MapFS) { f["fill.cu"].Data = append(f["fill.cu"].Data, ';') },
		"the compare": func(f fstest.MapFS) { f["compare.cu"].Data = append(f["compare.cu"].Data, ';') },
		"the Python":  func(f fstest.MapFS) { f["ref.py"].Data = append(f["ref.py"].Data, ' ') },
		"a reference": func(f fstest.MapFS) {
			f["op.yaml"].Data = []byte(strings.Replace(outsideOperator, "ref.py", "reference.cu", 1))
		},
		"no own fills": func(f fstest.MapFS) {
			f["op.yaml"].Data = []byte(strings.ReplaceAll(outsideOperator, "fill: fill.cu", "fill: constant(1)"))
		},
	} {
		files := outsideFiles()
		change(files)
		d := digest(outside(t, files))
		if other, twice := seen[d]; twice {
			t.Errorf("%s and %s: the digest is the same", what, other)
		}
		seen[d] = what
	}
}
