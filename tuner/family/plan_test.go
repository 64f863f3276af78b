package family

import (
	"strings"
	"testing"

	"autotune/internal/test/toy"
	"autotune/operator"
)

// wish is one for max_pool2d, whose kernels take every dimension.
func wish(t *testing.T, name, shapes string, free ...string) Wish {
	t.Helper()
	op, err := operator.Find(name)
	toy.Must(t, err)
	s, err := ParseShapes(shapes)
	toy.Must(t, err)
	w := Wish{Name: name, Operator: op, Shapes: s, Free: free, Samples: 8, HeldOut: 4}
	w.Parameters = map[string]string{}
	return w
}

// A dimension that is not free takes families apart, and a line says so.
func TestPlans(t *testing.T) {
	plans, notice, err := wish(t, "max_pool2d", "{1..8}x3x{8..64}x{8,16}").Plans()
	if err != nil || notice != "" || len(plans) != 1 || strings.Join(plans[0].Request.Free, " ") != "n h w" {
		t.Fatal(plans, notice, err)
	}
	if p := plans[0]; len(p.Samples) != 8 || len(p.HeldOut) != 4 {
		t.Error(p.Samples, p.HeldOut)
	}
	plans, notice, err = wish(t, "max_pool2d", "{1..8}x3x{8..64}x{8,16}", "n", "h").Plans()
	const want = "each value of w is a family of its own, 2 in all, since --free leaves them out"
	if err != nil || notice != want || len(plans) != 2 || plans[1].Shapes.String() != "{1..8}x3x{8..64}x16" {
		t.Error(plans, notice, err)
	}
	// Samples too small for the window are not drawn.
	w := wish(t, "max_pool2d", "{1..8}x3x{1..9}x8")
	w.Parameters = map[string]string{"kernel": "5", "padding": "0"}
	if plans, _, err = w.Plans(); err != nil {
		t.Fatal(err)
	}
	for _, shape := range plans[0].Samples {
		if shape[2] < 5 {
			t.Errorf("%v has no problem", shape)
		}
	}
}
