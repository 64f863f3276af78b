// Package testoperators holds operators for tests of devices. The tunable `mode` selects a kernel's behaviour; mode 0
// is correct.
package testoperators

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/device"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

//go:embed testdata
var testdata embed.FS

// Problem binds the operator with the given name to a shape of n elements.
func Problem(t *testing.T, name string, n int64, lim operator.Limits) *operator.Problem {
	t.Helper()
	root, err := fs.Sub(testdata, "testdata")
	must.OK(t, err)
	o, err := operator.Load(root, name)
	must.OK(t, err)
	problem, err := o.Bind(operator.Request{Shape: []int64{n}}, lim)
	must.OK(t, err)
	return problem
}

// Variant returns the problem's kernel with the given `mode`, which is not compiled yet.
func Variant(t *testing.T, p *operator.Problem, mode int64) device.Variant {
	t.Helper()
	c := p.Defaults(t.Context())[0]
	s, err := p.Space(t.Context())
	must.OK(t, err)
	index, ok := s.Index(space.Configuration{Template: c.Template, Values: space.Values{{Name: "mode", Value: expr.Int(mode)}}})
	if !ok {
		t.Fatalf("no configuration with mode %d", mode)
	}
	c = s.At(index)
	k, err := p.Kernel(c)
	must.OK(t, err)
	return device.Variant{Configuration: c, Kernel: k}
}

// Protocol returns the default measuring protocol with few samples.
func Protocol() device.Protocol {
	p := device.DefaultProtocol()
	p.Samples, p.MinSamples = 12, 3
	return p
}

// Own returns a problem of the operator in testdata/own, whose reference and comparison are kernels of its own. edits
// are pairs of old and new text, to replace in the operator's files.
func Own(t *testing.T, n int64, lim operator.Limits, edits ...string) *operator.Problem {
	t.Helper()
	dir, replace := t.TempDir(), strings.NewReplacer(edits...)
	root, err := fs.Sub(testdata, "testdata/own")
	must.OK(t, err)
	files, err := fs.Glob(root, "*")
	must.OK(t, err)
	for _, name := range files {
		text, err := fs.ReadFile(root, name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(replace.Replace(string(text))), 0o644)
		}
		must.OK(t, err)
	}
	o, err := operator.Load(os.DirFS(dir), ".")
	must.OK(t, err)
	o.Named = true
	p, err := o.Bind(operator.Request{Shape: []int64{n}}, lim)
	must.OK(t, err)
	return p
}

// OwnReference and the constants below it are edits of files for the function Own, which choose the operator's
// reference and its comparison.
const (
	OwnReference  = "reference: reference.cu"
	OwnPython     = "reference: ref.py"
	OwnComparison = "reference: reference.cu\ntolerance: compare.cu\ndeterministic: false"
)
