package family

import (
	"strings"
	"testing"

	"autotune/internal/test/toy"
	"autotune/operator"
)

// wish is one for max_pool2d, whose kernels take every dimension.
func wish(t *testing.T, name, shapes string) Wish {
	t.Helper()
	op, err := operator.Find(name)
	toy.Must(t, err)
	s, err := ParseShapes(shapes)
	toy.Must(t, err)
	w := Wish{Name: name, Operator: op, Shapes: s, Samples: 8, HeldOut: 4}
	w.Parameters = map[string]string{}
	return w
}

func TestPlan(t *testing.T) {
	p, err := wish(t, "max_pool2d", "{1..8}x3x{8..64}x{8,16}").Plan()
	if err != nil || strings.Join(p.Request.Free, " ") != "n h w" || len(p.Samples) != 8 || len(p.HeldOut) != 4 {
		t.Fatal(p, err)
	}
	if _, err = wish(t, "matmul", "1x{1..8}x{8..64}x64").Plan(); err == nil || !strings.Contains(err.Error(), "no kernel takes m, k") {
		t.Error(err)
	}
	// Samples too small for the window are not drawn.
	w := wish(t, "max_pool2d", "{1..8}x3x{1..9}x8")
	w.Parameters = map[string]string{"kernel": "5", "padding": "0"}
	if p, err = w.Plan(); err != nil {
		t.Fatal(err)
	}
	for _, shape := range p.Samples {
		if shape[2] < 5 {
			t.Errorf("%v has no problem", shape)
		}
	}
}
