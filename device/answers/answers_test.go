package answers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"autotune/device"
	"autotune/device/elements"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
)

const description = `operator: op
summary: For tests.
shape: [n]
tensors:
  - {name: x, role: input, type: TYPE, shape: [n]}
  - {name: k, role: input, type: i32, shape: [n]}
  - {name: a, type: f64, value: 0.5}
  - {name: y, role: output, type: TYPE, shape: [n]}
  - {name: z, role: inout, type: i16, shape: [2, n]}
cost: [n]
reference: ref.py
templates:
  - {name: t, source: t.cu, launch: {block: [32, 1, 1], grid: [1, 1, 1]}}
`

// question returns a question about a small problem whose inputs contain ascending numbers.
func question(t *testing.T, source string, at operator.Type, seconds int) Question {
	t.Helper()
	o, err := operator.Load(fstest.MapFS{
		"op.yaml": {Data: []byte(strings.Replace(description, "TYPE", string(at), -1))},
		"ref.py":  {Data: []byte(source + fmt.Sprintf("\nSECONDS = %d\n", seconds))}, "t.cu": {Data: []byte("extern \"C\" __global__ void op_t(void* x) {}")},
	}, ".")
	must.OK(t, err)
	o.Named = true
	p, err := o.Bind(operator.Request{Shape: []int64{5}}, operator.Limits{})
	must.OK(t, err)
	return Question{Problem: p, Inputs: device.Inputs{Distribution: "uniform01", Seed: 1}, Drawn: "by a test", Write: func(_ context.Context, dir string) ([]string, error) {
		files := make([]string, len(p.Arguments))
		for i, a := range p.Arguments {
			if !a.Role.Filled() {
				continue
			}
			var contents []byte
			for e := range a.Elements {
				contents = append(contents, bits(a.Type, float64(e))...)
			}
			files[i] = filepath.Join(dir, a.Name+".raw")
			if err := os.WriteFile(files[i], append([]byte("a head"), contents...), 0o600); err != nil {
				return nil, err
			}
		}
		return files, nil
	}}
}

func bits(t operator.Type, x float64) []byte {
	switch {
	case t == operator.F32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	case t == operator.F64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
	case t.Kind() == operator.Floating:
		return binary.LittleEndian.AppendUint16(nil, elements.Round(t, float32(x)))[:t.Bytes()]
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(int64(x)))[:t.Bytes()]
}

func needPython(t *testing.T, numpy bool) {
	t.Helper()
	testneeds.Python.Need(t)
	if numpy {
		testneeds.NumPy.Need(t)
	}
}

// Errors in the Python file itself are reported even where NumPy is not installed.
func TestPythonFaultsWithoutNumPy(t *testing.T) {
	needPython(t, false)
	for source, want := range map[string]string{
		"x = 1\ny = x / 0\ndef reference():\n    pass\n":                                     "fails: ref.py:2: ZeroDivisionError: division by zero",
		"import numpyy\ndef reference():\n    pass\n":                                        "fails: ref.py:1: ModuleNotFoundError: No module named 'numpyy'",
		"def reference():\n    pass\n\nx = (1,\n":                                            "fails: ref.py:4: SyntaxError: ",
		"import os\nos._exit(3)\ndef reference():\n    pass\n":                               "ref.py ended without an answer (exit status 3)",
		"import sys\nprint('so much')\nsys.exit('enough')\ndef reference():\n    pass\n":     "fails: ref.py:3: SystemExit: enough",
		"import os\nprint('goodbye')\nos.kill(os.getpid(), 9)\ndef reference():\n    pass\n": "ref.py ended without an answer (",
		"input()\ndef reference():\n    pass\n":                                              "fails: ref.py:1: EOFError",
		"raise ValueError('a\\nb')\ndef reference():\n    pass\n":                            "fails: ref.py:1: ValueError: a",
	} {
		err := question(t, source, operator.F32, 60).Answer(t.Context(), t.TempDir())
		var failed *device.ReferenceError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want %q", source, err, want)
		}
	}
}

// A Python file that hangs is killed, with its child processes, once its time is up or the caller's context ends.
func TestPythonHangs(t *testing.T) {
	needPython(t, false)
	source := "import subprocess\nsubprocess.run(['sleep', '1000'])\ndef reference():\n    pass\n"
	begin := time.Now()
	err := question(t, source, operator.F32, 1).Answer(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "did not end: ref.py was killed after 1s; a line `SECONDS = 600`") || time.Since(begin) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := question(t, source, operator.F32, 600).Answer(ctx, t.TempDir()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestPythonIsNotRunUnlessNamed(t *testing.T) {
	dir := t.TempDir()
	q := question(t, "open('"+filepath.Join(dir, "ran")+"', 'w')\ndef reference():\n    pass\n", operator.F32, 60)
	q.Problem.Operator.Named = false
	err := q.Answer(t.Context(), t.TempDir())
	if _, ran := os.Stat(filepath.Join(dir, "ran")); err == nil || !strings.Contains(err.Error(), "named on the command line") || ran == nil {
		t.Errorf("%v, ran: %v", err, ran == nil)
	}
}

func TestNoPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := question(t, "def reference():\n    pass\n", operator.F32, 60).Answer(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "there is no python3 here: install it, with NumPy") {
		t.Error(err)
	}
}

func TestPythonFaults(t *testing.T) {
	needPython(t, true)
	for body, want := range map[string]string{
		"    return x":                         "fails: ref.py: `reference` returns 1, and the operator has 2 outputs: y, z",
		"    pass":                             "`reference` returns nothing",
		"    return x[1:], z":                  "y has the shape (4,), and the operator's has (5,)",
		"    return k, z":                      "y is of int32, and the operator's of float32",
		"    return x, z * 1.0":                "z is of float64, and the operator's of int16",
		"    return x, z.astype('i4') + 10**6": "z holds 1000000 to 1000009, which are beyond int16",
		"    return {'y': x}":                  "the dict that `reference` returns lacks z",
		"    return x, z, k":                   "returns 3, and the operator has 2 outputs",
		"    a = 1\n    return inner(x)\ndef inner(x):\n    return x[100]": "fails: ref.py:5: IndexError: index 100 is out of bounds",
		"    return 'text', z": "y has the shape (), and the operator's has (5,)",
	} {
		err := question(t, "def reference(x, k, z):\n"+body+"\n", operator.F32, 60).Answer(t.Context(), t.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want %q", body, err, want)
		}
	}
	err := question(t, "def reference(one, two):\n    return one\n", operator.F32, 60).Answer(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "`reference(one, two)` cannot be called: the operator has x, k, a, z, in this order, and the values math, n") {
		t.Error(err)
	}
}

// The Python function receives the arguments that its parameters name, or all of them in order. What the Python
// function prints is dropped, and the function's results are rounded to the tensor's type.
func TestPythonAnswers(t *testing.T) {
	needPython(t, true)
	const half = "import numpy as np\nimport sys\n"
	for name, source := range map[string]string{
		"by name":       half + "def reference(z, n, x, a):\n    print('hello'); sys.stderr.write('hello')\n    assert n == 5\n    return x * a, z + n\n",
		"in order":      half + "def reference(first, second, third, fourth):\n    return first.astype(np.float64) * third, fourth + 5\n",
		"by dict":       half + "def reference(x, z, a, n, more=3):\n    z += n\n    return {'z': z.astype(np.int64), 'y': x * a}\n",
		"like a tensor": half + "class T:\n    def __init__(self, v): self.v = v\n    def detach(self): return self\n    def cpu(self): return self\n    def numpy(self): return self.v\ndef reference(x, z, a, n):\n    return T(x * a), T(z + n)\n",
		"in any order":  half + "def reference(*, z, x, n, a):\n    return [x * a, z + np.int16(n)]\n",
	} {
		types := []operator.Type{operator.F32}
		if name == "by name" {
			types = []operator.Type{operator.F64, operator.F16, operator.BF16, operator.F8E4M3, operator.F8E5M2}
		}
		for _, at := range types {
			dir := t.TempDir()
			if err := question(t, source, at, 60).Answer(t.Context(), dir); err != nil {
				t.Errorf("%s, %s: %v", name, at, err)
				continue
			}
			var want []byte
			for i := range 5 {
				want = append(want, bits(at, float64(i)/2)...)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "y.reference")); err != nil || string(got) != string(want) {
				t.Errorf("%s, %s: y is %x, %v; want %x", name, at, got, err, want)
			}
			if left, _ := os.ReadDir(dir); len(left) != 2 {
				t.Errorf("%s: left %v", name, left)
			}
		}
	}
}

// Python receives and returns a tensor by its logical shape, whatever the order of its axes in memory.
func TestPythonAnswersInOrder(t *testing.T) {
	needPython(t, true)
	q := question(t, "def reference(x, z, a, n):\n    assert z[0].tolist() == [0, 2, 4, 6, 8], z\n    return x, z + z\n", operator.F32, 60)
	at := slices.IndexFunc(q.Problem.Arguments, func(a operator.Argument) bool { return a.Name == "z" })
	q.Problem.Arguments[at].Order = []int{1, 0}
	dir := t.TempDir()
	must.OK(t, q.Answer(t.Context(), dir))
	var want []byte
	for i := range 10 {
		want = append(want, bits(operator.I16, float64(2*i))...)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "z.reference")); err != nil || string(got) != string(want) {
		t.Errorf("z is %x, %v; want %x", got, err, want)
	}
}

// A cached answer is used, without running Python, if the question is the same and the cache entry is not damaged.
func TestAnswersAreKept(t *testing.T) {
	needPython(t, true)
	cache, counter := t.TempDir(), filepath.Join(t.TempDir(), "asked")
	source := "open('" + counter + "', 'a').write('x')\ndef reference(x, z):\n    return x, z\n"
	asked := 0
	ask := func(q Question, again bool) {
		t.Helper()
		dir := t.TempDir()
		q.CacheDir = cache
		must.OK(t, q.Answer(t.Context(), dir))
		if info, err := os.Stat(filepath.Join(dir, "y.reference")); err != nil || info.Size() != 20 {
			t.Errorf("%v, %v", info, err)
		}
		if !again {
			asked++
		}
		if text, _ := os.ReadFile(counter); len(text) != asked {
			t.Errorf("asked %d times, want %d", len(text), asked)
		}
	}
	q := question(t, source, operator.F32, 60)
	ask(q, false)
	ask(q, true)
	q.Inputs.Seed = 2
	ask(q, false)
	q.Inputs.Seed = 1
	ask(question(t, source+"# other\n", operator.F32, 60), false)
	kept, err := filepath.Glob(filepath.Join(cache, "??", "*-d"))
	if err != nil || len(kept) == 0 {
		t.Fatal(kept, err)
	}
	for _, file := range kept {
		text := must.Read(t, file)
		text[0] ^= 1
		must.OK(t, errors.Join(os.Remove(file), os.WriteFile(file, text, 0o600)))
	}
	ask(q, false)
	ask(q, true)
}
