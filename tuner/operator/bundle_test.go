package operator_test

import (
	"bytes"
	"os"
	"testing"

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
	for _, name := range []string{"avg_pool1d", "conv2d"} {
		o, err := operator.Find(name)
		if err != nil {
			f.Fatal(err)
		}
		archive, err := o.Bundle()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive)
	}
	f.Fuzz(func(_ *testing.T, archive []byte) { _, _ = operator.LoadBundle(archive) })
}
