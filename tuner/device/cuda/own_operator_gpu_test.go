//go:build cuda && gpu

package cuda

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/tuner/operator"
)

// ownProblem is a problem of the tests' operator with files and kernels of its own,
// whose files are edited: pairs of old and new text.
func ownProblem(t *testing.T, n int64, lim operator.Limits, edits ...string) *operator.Problem {
	t.Helper()
	dir, replace := t.TempDir(), strings.NewReplacer(edits...)
	root, err := fs.Sub(testdata, "testdata/own")
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(root, "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := fs.ReadFile(root, name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(replace.Replace(string(text))), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	writeNPY(t, filepath.Join(dir, "v.npy"), "<f4", n, func(i int64) uint64 { return uint64(math.Float32bits(float32(i%50) - 25)) })
	writeNPY(t, filepath.Join(dir, "y.npy"), "<f4", n, func(i int64) uint64 { return uint64(math.Float32bits(2*(float32(i%50)-25) + 0.5 + 3)) })
	writeNPY(t, filepath.Join(dir, "total.npy"), "<i8", n, func(i int64) uint64 { return uint64(10*i + 3) })
	o, err := operator.Load(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	o.Named = true
	p, err := o.Bind(operator.Request{Shape: []int64{n}}, lim)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fixed are the edits that make the operator one whose answers are in files.
var fixed = []string{
	"type: i32, shape: [n], fill: fill.cu", "type: i32, shape: [n], fill: constant(3)",
	"type: i64, shape: [n], fill: fill.cu", `type: i64, shape: [n], fill: "range(0, 10)"`,
	"type: bf16, shape: [n]", "type: bf16, shape: [n], fill: constant(0.5)",
	"reference: reference.cu", "reference: {npy: {y: y.npy, total: total.npy}}",
}

// More edits: what says what is right, and what compares.
const (
	ownReference  = "reference: reference.cu"
	ownPython     = "reference: {python: ref.py}"
	ownComparison = "reference: reference.cu\ncompare: {kernel: compare.cu, bound: 1e-3}\ndeterministic: false"
)

func writeNPY(t *testing.T, path, descr string, n int64, bits func(i int64) uint64) {
	t.Helper()
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", descr, n)
	head += strings.Repeat(" ", 128-10-1-len(head)) + "\n"
	file := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	file = append(file, head...)
	for i := range n {
		element := binary.LittleEndian.AppendUint64(nil, bits(i))
		file = append(file, element[:descr[2]-'0']...)
	}
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
}
