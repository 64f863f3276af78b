package operator

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"autotune/internal/test/must"
)

// outsideOperator has something of all that is not a kernel of templates.
const outsideOperator = `operator: op
summary: For tests.
shape: [n]
tensors:
  - {name: start, role: input, type: i32, shape: [n + 1], fill: fill.cu}
  - {name: x, role: input, shape: [n], fill: x.npy}
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

func numpyFile(descr, shape string, bytes int) *fstest.MapFile {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", descr, shape)
	return &fstest.MapFile{Data: append([]byte("\x93NUMPY\x01\x00"+string(rune(len(head)))+"\x00"+head), make([]byte, bytes)...)}
}

func outsideFiles(edits ...string) fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"op.yaml": file(strings.NewReplacer(edits...).Replace(outsideOperator)),
		"fill.cu": file("void op_fill("), "other.cu": file("void op_fill(\nvoid other("), "compare.cu": file("void op_compare("), "t.cu": file("void op_t("),
		"reference.cu": file("void op_reference("), "ref.py": file("def reference(x):\n    return x\n"),
		"x.npy": numpyFile("<f4", "7,", 28), "y.npy": numpyFile("<f4", "7,", 28), "column.npy": numpyFile("|u1", "14,", 14),
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
	if a := p.Arguments[1]; a.Fill.Drawn() || a.Fill.File != "x.npy" || !p.Arguments[5].Fill.Drawn() {
		t.Errorf("%+v", a.Fill)
	}
}

func TestOutsideFaults(t *testing.T) {
	const x, python = "fill: x.npy", "reference: ref.py"
	for _, tt := range []struct{ old, new, want string }{
		{x, "fill: z.npy", "op.yaml:6:46: z.npy cannot be used: file does not exist; did you mean `x.npy`?"},
		{x, "fill: ../x.npy", "op.yaml:6:46: this must name a .npy file in the operator's folder, as x.npy"},
		{x, "fill: column.npy", "op.yaml:6:46: column.npy holds uint8, and the tensor `x` is of type f32; save it as float32"},
		{x, "fill: {npy: x.npy}", "op.yaml:6:46: this must be text; it is a mapping"},
		{x, "fill: nofill.cu", "op.yaml:6:46: there is no source file `nofill.cu`; did you mean `fill.cu`?"},
		{x, "fill: t.cu", "op.yaml:6:46: `t.cu` does not define `op_fill`; its entry point is extern \"C\" __global__ void op_fill(...)"},
		{"name: y, role: output", "name: y, role: output, fill: fill.cu", "op.yaml:10:35: only what is read is filled; `y` is an output"},
		{python, "reference: u", "op.yaml:13:12: unknown reference: no file and no template `u`"},
		{"tolerance: compare.cu", "tolerance: t.cu", "op.yaml:12:12: `t.cu` does not define `op_compare`"},
	} {
		_, err := Load(outsideFiles(tt.old, tt.new), ".")
		refused(t, tt.new, err, tt.want)
	}
	p := outside(t, outsideFiles())
	if _, err := p.Operator.Bind(Request{Shape: []int64{8}}, TypicalLimits()); err == nil || err.Error() != "op: x.npy holds an array of 7, and `x` is of 8 here" {
		t.Error(err)
	}
}

// The digest of what is right changes with each of its parts.
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
		"a number":    func(f fstest.MapFS) { f["x.npy"].Data[len(f["x.npy"].Data)-1] ^= 1 },
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

// A hostile file is refused at once: a pipe is not opened, one that announces more than it has is not read.
func TestHostileData(t *testing.T) {
	dir := t.TempDir()
	must.OK(t, os.CopyFS(dir, outsideFiles()))
	file := filepath.Join(dir, "x.npy")
	for want, make := range map[string]func() error{
		"it is no regular file": func() error { return syscall.Mkfifo(file, 0o600) },
		"its head announces 28 bytes of elements, and it has 1099511627": func() error {
			if err := os.WriteFile(file, numpyFile("<f4", "7,", 28).Data, 0o600); err != nil {
				return err
			}
			return os.Truncate(file, 1<<40)
		},
		"more than 2^63 bytes": func() error { return os.WriteFile(file, numpyFile("<f4", "9223372036854775807,", 28).Data, 0o600) },
	} {
		must.OK(t, os.Remove(file))
		must.OK(t, make())
		begin := time.Now()
		if _, err := Load(os.DirFS(dir), "."); err == nil || !strings.Contains(err.Error(), want) || time.Since(begin) > 10*time.Second {
			t.Errorf("%v after %v; want %s", err, time.Since(begin), want)
		}
	}
}
