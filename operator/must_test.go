package operator

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autotune/internal/test/must"
	"autotune/space"
)

// The helpers in this file load and bind operators for tests, and end the test if they fail.

// refused checks that an error is a single line that contains the text want.
func refused(t rapid.TB, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: got %v\nwant %s", what, err, want)
	}
}

func find(t testing.TB, name string) *Operator {
	t.Helper()
	o, err := Find(name)
	must.OK(t, err)
	return o
}

func loaded(t testing.TB, files fs.FS) *Operator {
	t.Helper()
	o, err := Load(files, ".")
	must.OK(t, err)
	return o
}

func bound(t testing.TB, o *Operator, r Request) *Problem {
	t.Helper()
	p, err := o.Bind(r, TypicalLimits())
	must.OK(t, err)
	return p
}

func kernelAt(t testing.TB, p *Problem, c space.Configuration) Kernel {
	t.Helper()
	k, err := p.Kernel(c)
	must.OK(t, err)
	return k
}

func referenceOf(t testing.TB, p *Problem) Kernel {
	t.Helper()
	k, err := p.Reference()
	must.OK(t, err)
	return k
}

func spaceOf(t testing.TB, of interface {
	Space(context.Context) (*space.Space, error)
}) *space.Space {
	t.Helper()
	s, err := of.Space(t.Context())
	must.OK(t, err)
	return s
}

// bindShape binds an operator to a shape, with the parameters that the operator presets.
func bindShape(t *testing.T, o *Operator, shape ...int64) *Problem {
	t.Helper()
	return bound(t, o, Request{Shape: shape})
}
