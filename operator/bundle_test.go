package operator

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"testing"
	"testing/fstest"

	"autotune/examples"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
)

// exampleOperators loads the operators under examples/.
func exampleOperators(t *testing.T) (all []*Operator) {
	t.Helper()
	for _, pattern := range []string{"*.cu", "*/op.yaml"} {
		files, err := fs.Glob(examples.FS, pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			var o *Operator
			if path.Ext(file) == ".cu" {
				o, err = LoadFile(examples.FS, ".", file)
			} else {
				o, err = Load(examples.FS, path.Dir(file))
			}
			must.OK(t, err)
			all = append(all, o)
		}
	}
	return all
}

// oneAtATime skips a long test of one goroutine in short runs, such as those of the race detector.
func oneAtATime(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("does much, one thing at a time")
	}
}

// Bundling and loading an operator does not change it. TestBundle takes every built-in operator, every example, an
// operator in a single file, and an operator that uses every feature of op.yaml.
func TestBundle(t *testing.T) {
	oneAtATime(t)
	all, err := Operators()
	must.OK(t, err)
	begin, err := LoadFile(os.DirFS("../cmd/autotune/begin"), ".", "operator.cu")
	must.OK(t, err)
	all = append(append(endurance.Some(all, 12), begin, outside(t, outsideFiles()).Operator), exampleOperators(t)...)
	tried := map[string]bool{}
	for _, o := range all {
		archive, err := o.Bundle()
		must.OK(t, err)
		again, err := LoadBundle(archive)
		if err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		if again.Name != o.Name || again.Right != o.Right {
			t.Errorf("%s came out as %s", o.Name, again.Name)
		}
		if twice, _ := again.Bundle(); !bytes.Equal(twice, archive) {
			t.Errorf("%s: the bundle of what came out is another", o.Name)
		}
		for kind, has := range map[string]bool{
			"fill kernel": len(o.FillKernels) > 0, "comparison": o.Compare != nil, "Python file": o.Answers != nil,
			"include of its own": o.Templates[0].Source.Includes["row.cuh"] != "",
		} {
			tried[kind] = tried[kind] || has
		}
	}
	for kind, ok := range tried {
		if !ok {
			t.Errorf("no operator with a %s was tried", kind)
		}
	}
}

func FuzzLoadBundle(f *testing.F) {
	small := fstest.MapFS{
		"op.yaml": {Data: []byte("operator: copy\nsummary: copies\nshape: [n]\ntensors:\n  - {name: x, role: input, shape: [n]}\n  - {name: y, role: output, shape: [n]}\n" +
			"inputs: [uniform01]\ncost: [8*n, n]\nreference: k.cu\ntemplates:\n  - name: plain\n    source: k.cu\n    tunables: {a: [1, 2]}\n" +
			"    launch: {block: [32, 1, 1], grid: [1, 1, 1], shared: 0}\n    default: {a: 1}\n")},
		"k.cu": {Data: []byte("extern \"C\" __global__ void copy_reference(const float* x, float* y) {}\nextern \"C\" __global__ void copy_plain(const float* x, float* y) {}\n")},
	}
	o, err := Load(small, ".")
	must.OK(f, err)
	archive, err := o.Bundle()
	must.OK(f, err)
	f.Add(archive)
	f.Fuzz(func(_ *testing.T, archive []byte) { _, _ = LoadBundle(archive) })
}
