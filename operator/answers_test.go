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
)

// outsideOperator has something of all that is not a kernel of templates.
const outsideOperator = `operator: op
summary: For tests.
shape: [n]
tensors:
  - {name: start, role: input, type: i32, shape: [n + 1], fill: fill.cu}
  - {name: x, role: input, shape: [n], fill: {npy: x.npy}}
  - {name: column, role: inout, type: u8, shape: [2*n], fill: {kernel: fill.cu}}
  - {name: n32, type: i32, value: n}
  - {name: w, role: input, shape: [n], fill: {kernel: fill.cu, entry: other}}
  - {name: y, role: output, shape: [n]}
cost: {bytes: n}
compare: {kernel: compare.cu, bound: n/100}
reference: {python: ref.py, seconds: 5}
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
		"fill.cu": file("void op_fill(\nvoid other("), "compare.cu": file("void op_compare("), "t.cu": file("void op_t("),
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
	if got := strings.Join(fillings, "; "); got != "op_fill[0 2] [0 2 3] [1 1 1]; other[4] [3 4] [1 1 1]" {
		t.Errorf("fillings %s", got)
	}
	k, there := p.Comparing()
	if !there || k.Launches[0].Entry != "op_compare" || p.Bound != 0.07 {
		t.Errorf("comparing by %v %s within %v", there, k.Launches[0].Entry, p.Bound)
	}
	o := p.Operator
	if o.Right != "ref.py, run by python3" || o.Answers.Seconds != 5 || o.Answers.Fixed() || o.Named {
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
	const x, python = "fill: {npy: x.npy}", "{python: ref.py, seconds: 5}"
	for _, tt := range []struct{ old, new, want string }{
		{x, "fill: x.npy", "op.yaml:6:46: `x.npy` is no distribution; as fill: {npy: x.npy}"},
		{x, "fill: {npy: z.npy}", "op.yaml:6:52: z.npy cannot be used: file does not exist; did you mean `x.npy`?"},
		{x, "fill: {npy: ../x.npy}", "op.yaml:6:52: this must name a .npy file in the operator's folder, as x.npy"},
		{x, "fill: {npy: column.npy}", "op.yaml:6:52: column.npy holds uint8, and the tensor `x` is of type f32; save it as float32"},
		{x, "fill: {npy: x.npy, kernel: fill.cu}", "op.yaml:6:46: a fill is a kernel or a file; as {kernel: fill.cu} or {npy: x.npy}"},
		{x, "fill: {}", "op.yaml:6:46: a fill is a kernel or a file"},
		{x, "fill: {kernel: fill.cu, entry: nowhere}", "op.yaml:6:55: `fill.cu` does not define `nowhere`; its entry point is extern \"C\" __global__ void nowhere(...)"},
		{x, "fill: nofill.cu", "op.yaml:6:46: there is no source file `nofill.cu`; did you mean `fill.cu`?"},
		{"name: y, role: output", "name: y, role: output, fill: fill.cu", "op.yaml:10:35: only what is read is filled; `y` is an output"},
		{python, "{python: ref.py, seconds: 0}", "op.yaml:13:38: a Python file may take from 1 to 86400 seconds, not 0"},
		{python, "{python: t.cu}", "op.yaml:13:21: `t.cu` is not the name of a Python file; as {python: ref.py}"},
		{python, "{}", "op.yaml:13:12: a reference is one of these: a file, {template: NAME}, {python: FILE}, {npy: {TENSOR: FILE}}; as {python: ref.py}"},
		{python, "{template: t, seconds: 3}", "op.yaml:13:35: only a Python file has a time of its own"},
		{python, "{template: u}", "op.yaml:13:23: unknown template `u`"},
		{python, "{npy: {y: y.npy}}", "op.yaml:13:18: npy lacks the key `column`"},
		{python, "{npy: {y: y.npy, column: column.npy}}", "op.yaml:13:18: answers in files are right for the same inputs alone, and `start` depends on the seed"},
		{"bound: n/100", "bound: m/100", "op.yaml:12:38: `m` is not defined here"},
		{"bound: n/100", "bund: n/100", "op.yaml:12:31: unknown key `bund`; did you mean `bound`?"},
		{"cost: {bytes: n}", "cost: {bytes: n}\ntolerance: {atol: 1}", "op.yaml:12:12: a kernel compares, so a tolerance means nothing"},
	} {
		_, err := Load(outsideFiles(tt.old, tt.new), ".")
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v\nwant %s", tt.new, err, tt.want)
		}
	}
	p := outside(t, outsideFiles())
	if _, err := p.Operator.Bind(Request{Shape: []int64{8}}, TypicalLimits()); err == nil || err.Error() != "op: x.npy holds an array of 7, and `x` is of 8 here" {
		t.Error(err)
	}
	o := loaded(t, outsideFiles("bound: n/100", "bound: 0-n"))
	if _, err := o.Bind(Request{Shape: []int64{7}}, TypicalLimits()); err == nil || !strings.Contains(err.Error(), "the bound of `compare`, 0-n, is -7 and not a bound") {
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
		"the bound":   func(f fstest.MapFS) { f["op.yaml"].Data = []byte(strings.Replace(outsideOperator, "n/100", "n/10", 1)) },
		"a reference": func(f fstest.MapFS) {
			f["op.yaml"].Data = []byte(strings.Replace(outsideOperator, "{python: ref.py, seconds: 5}", "reference.cu", 1))
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

// A hostile file is refused at once: a pipe is not opened, one that announces more than
// it has is not read.
func TestHostileData(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(dir, outsideFiles()))
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
		must(t, os.Remove(file))
		must(t, make())
		begin := time.Now()
		if _, err := Load(os.DirFS(dir), "."); err == nil || !strings.Contains(err.Error(), want) || time.Since(begin) > 10*time.Second {
			t.Errorf("%v after %v; want %s", err, time.Since(begin), want)
		}
	}
}
