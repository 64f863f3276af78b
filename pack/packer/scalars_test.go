package packer

import (
	"os"
	"regexp"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner/family"
)

// A family's kernels must get integer scalars computed from the shape, and other scalars as their bits. The general
// kernel gets no scalars, since the kernel computes their values itself.
func TestScalarsOfFamilies(t *testing.T) {
	op, err := operator.Load(os.DirFS("testdata"), "scaled")
	must.OK(t, err)
	f := fakeFamilyOf(t, op, "{1..40}", "n", "")
	f.Tree = &family.Node{Entries: []int{0}}
	path := packedFamilies(t, []Family{f})
	var cases []chosenCase
	for _, n := range []int64{1, 33, 100} { // 100 is outside the family's range
		p, err := op.Bind(operator.Request{Shape: []int64{n}}, hopper())
		must.OK(t, err)
		cases = append(cases, chosenCase{problem: p})
	}
	const want = "x: 0x1000 0x2000 0x40200000 (nil)\nx: 0x1000 0x2000 0x40200000 0x20\nx: 0x1000 0x2000 0x64 0x64\n"
	t.Setenv("FAKE_POINTERS", "4")
	got := regexp.MustCompile(`(?m)^launch.* on 0x7`).ReplaceAllString(printedByPython(t, path, cases), "x")
	if got = regexp.MustCompile(`(?m)^[^x].*\n`).ReplaceAllString(got, ""); got != want {
		t.Errorf("passes\n%swant\n%s", got, want)
	}
}

// No integer formula computes a floating-point scalar that depends on the shape, so its family cannot be packed.
func TestScalarsLeftOut(t *testing.T) {
	op := scaledWith(t, "value: 2.5", "value: n / 2")
	if why := fakeFamilyOf(t, op, "{1..40}", "n", "").notPacked(); why != "the scalar `a` is of floating point, and n / 2 depends on the shape" {
		t.Error(why)
	}
}
