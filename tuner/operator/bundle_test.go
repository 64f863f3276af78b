package operator_test

import (
	"bytes"
	"os"
	"testing"
	"testing/fstest"

	"autotune/tuner/operator"
)

// What comes out of a bundle is the operator that went in, for every one that is built
// in and for one in a single file.
func TestBundle(t *testing.T) {
	all, err := operator.Operators()
	if err != nil {
		t.Fatal(err)
	}
	single, err := operator.LoadFile(os.DirFS("../../cmd/autotune/begin"), ".", "operator.cu")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range append(all, single) {
		archive, err := o.Bundle()
		if err != nil {
			t.Fatal(err)
		}
		again, err := operator.LoadBundle(archive)
		if err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		if again.Name != o.Name || again.SourceDigest() != o.SourceDigest() {
			t.Errorf("%s came out as %s, with other sources: %v", o.Name, again.Name, again.SourceDigest() != o.SourceDigest())
		}
		if twice, _ := again.Bundle(); !bytes.Equal(twice, archive) {
			t.Errorf("%s: the bundle of what came out is another", o.Name)
		}
	}
}

func FuzzLoadBundle(f *testing.F) {
	small := fstest.MapFS{
		"op.yaml": {Data: []byte("operator: copy\nsummary: copies\nshape: [n]\ntensors:\n  - {name: x, role: input, shape: [n]}\n  - {name: y, role: output, shape: [n]}\n" +
			"inputs: [uniform01]\ncost: {bytes: 8*n, flops: n}\nreference: k.cu\ntemplates:\n  - name: plain\n    source: k.cu\n    tunables: {a: [1, 2]}\n" +
			"    launch: {block: [32, 1, 1], grid: [1, 1, 1], shared: 0}\n    default: {a: 1}\n")},
		"k.cu": {Data: []byte("extern \"C\" __global__ void copy_reference(const float* x, float* y) {}\nextern \"C\" __global__ void copy_plain(const float* x, float* y) {}\n")},
	}
	o, err := operator.Load(small, ".")
	if err != nil {
		f.Fatal(err)
	}
	archive, err := o.Bundle()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(archive)
	f.Fuzz(func(_ *testing.T, archive []byte) { _, _ = operator.LoadBundle(archive) })
}
