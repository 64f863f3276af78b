package family

import (
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner/batch"
)

func request(t *testing.T, name string) batch.Request {
	t.Helper()
	op, err := operator.Find(name)
	must.OK(t, err)
	return batch.Request{Name: name, Operator: op, Request: operator.Request{Parameters: map[string]string{}}}
}

func shapes(t *testing.T, text string) Shapes {
	t.Helper()
	s, err := ParseShapes(text)
	must.OK(t, err)
	return s
}

// Every dimension that varies is free; if no kernel can take one of them at run time, the error names it.
func TestNewPlan(t *testing.T) {
	p, err := NewPlan(request(t, "max_pool2d"), shapes(t, "{1..8}x3x{8..64}x{8,16}"), 8, 4)
	if err != nil || strings.Join(p.Free, " ") != "n h w" || len(p.Samples) != 8 || len(p.HeldOut) != 4 {
		t.Fatal(p.Free, p.Samples, p.HeldOut, err)
	}
	// Shapes that are too small for the pooling window do not become samples.
	r := request(t, "max_pool2d")
	r.Parameters = map[string]string{"kernel": "5", "padding": "0"}
	p, err = NewPlan(r, shapes(t, "{1..8}x3x{1..9}x8"), 8, 4)
	must.OK(t, err)
	for _, shape := range p.Samples {
		if shape[2] < 5 {
			t.Errorf("%v has no problem", shape)
		}
	}
	given := request(t, "max_pool2d")
	given.Free = []string{"n"}
	for _, c := range []struct {
		r            batch.Request
		shapes, want string
	}{
		{given, "{1..8}x3x9x8", "leave `free` away"},
		{request(t, "group_norm"), "{1..8}x{32,64}x8", "no kernel takes c when it runs together with n; give c one value"},
		{request(t, "max_pool2d"), "{1..8}x3x8", "a shape has 4 dimensions, n, c, h, w; got 3"},
		{request(t, "max_pool2d"), "1x3x8x8", "is one shape, which `autotune search` takes"},
	} {
		if _, err := NewPlan(c.r, shapes(t, c.shapes), 8, 4); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.shapes, err, c.want)
		}
	}
}
