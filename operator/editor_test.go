package operator

import (
	"io/fs"
	"path"
	"slices"
	"testing"

	"autotune/templates"
)

// Every built-in CUDA file can be read in an editor as a kernel of its operator's example: with the
// macros that its template's default has there.
func TestEditorKernels(t *testing.T) {
	oneAtATime(t)
	read := map[string]bool{}
	for _, name := range OperatorNames() {
		o := find(t, name)
		kernels, err := o.EditorKernels()
		must(t, err)
		p := bound(t, o, Request{Shape: o.Example})
		for _, k := range kernels {
			if read[path.Join(name, k.File)] {
				t.Errorf("%s: %s comes twice", name, k.File)
			}
			read[path.Join(name, k.File)], read[path.Join("include", k.File)] = true, true
		}
		for _, c := range p.Defaults(t.Context()) {
			want := kernelAt(t, p, c)
			first := slices.IndexFunc(o.Templates, func(t *Template) bool { return t.Source.File == want.File })
			if o.Templates[first].Name != c.Template {
				continue
			}
			at := slices.IndexFunc(kernels, func(k Kernel) bool { return k.File == want.File })
			if at < 0 || !slices.Equal(kernels[at].Macros, want.Macros) {
				t.Errorf("%s: an editor does not read %s with the macros of %s", name, want.File, c)
			}
		}
	}
	files, err := fs.Glob(templates.FS, "*/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if !read[file] {
			t.Errorf("no editor can read %s: no operator has it", file)
		}
	}
}

// An operator without an example says what an editor lacks.
func TestEditorNeedsExample(t *testing.T) {
	o := find(t, "conv2d")
	o.Example = nil
	if _, err := o.EditorKernels(); err == nil {
		t.Error("there are kernels for no problem")
	}
}
