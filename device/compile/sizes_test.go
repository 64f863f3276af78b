package compile

import (
	"bytes"
	"context"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
)

// One compilation serves each shape of a kernel that reads its sizes when it runs: the file is, byte for
// byte, what the compiler makes for that shape.
func TestSizesAreWrittenIn(t *testing.T) {
	c := openNVRTC(t, 1)
	op, err := operator.Find("max_pool2d")
	must.OK(t, err)
	once := &counting{outcome: func(ctx context.Context, r Request) (*Binary, error) { return c.Compile(ctx, r) }}
	compiler := Cached(t.TempDir(), once)
	for _, shape := range [][]int64{{2, 3, 12, 16}, {3, 3, 17, 20}} {
		p, err := op.Bind(operator.Request{Shape: shape, Parameters: map[string]string{"kernel": "2"}, Free: []string{"n", "h", "w"}}, operator.TypicalLimits())
		must.OK(t, err)
		k, err := p.Kernel(p.Defaults(t.Context())[0])
		must.OK(t, err)
		r := Request{Kernel: k, Arch: "sm_80"}
		if got, want := compileOK(t, compiler, r), compileOK(t, c, r); !bytes.Equal(got.Code, want.Code) {
			t.Errorf("%v: the cubins differ", shape)
		}
	}
	if n := once.calls.Load(); n != 1 {
		t.Errorf("compiled %d times, want once", n)
	}
}

// A file without a place for sizes is made with them.
func TestSizesWithoutAPlace(t *testing.T) {
	op, err := operator.Find("max_pool2d")
	must.OK(t, err)
	p, err := op.Bind(operator.Request{Shape: []int64{2, 3, 12, 16}, Free: []string{"h"}}, operator.TypicalLimits())
	must.OK(t, err)
	k, err := p.Kernel(p.Defaults(t.Context())[0])
	must.OK(t, err)
	if b := compileOK(t, Cached(t.TempDir(), &counting{}), Request{Kernel: k, Arch: "sm_80"}); string(b.Code) != k.Source {
		t.Error("it was compiled with other sizes")
	}
}
