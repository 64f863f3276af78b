package gpu

import (
	"testing"

	"autotune/device/elements"
	"autotune/internal/test/must"
	"autotune/internal/test/testoperators"
	"autotune/operator"
)

// Each argument that is filled has its own seed, whatever lies between them.
func TestFills(t *testing.T) {
	p := testoperators.Problem(t, "mixed", 1000, operator.Limits{})
	filled, err := elements.FillsOf(p.Arguments, "normal", 10)
	must.OK(t, err)
	for i, a := range p.Arguments {
		want := uint32(0)
		if a.Role.Filled() {
			want = 10 + uint32(i)
		}
		if filled[i].Seed != want {
			t.Errorf("%s has the seed %d, want %d", a.Name, filled[i].Seed, want)
		}
	}
	if q := filled[1]; q.A != 0 || q.B != 7 {
		t.Errorf("q is filled with %+v", q)
	}
}
