package tuner_test

import (
	"strings"
	"testing"

	"autotune/device"
	"autotune/internal/test/must"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/tuner"
)

type fakeDevice = toy.Device

var (
	took    = toy.Took
	number  = toy.Number
	numbers = toy.Numbers
)

// toyOperator has 14 valid configurations: of the 4 x 4 combinations, the constraint a*b <= 16 excludes two.
var toyOperator = toy.OpYAML("toy", "tunables: {a: [1, 2, 4, 8], b: [1, 2, 3, 4]}",
	`constraints: ["a*b <= 16", "n < 1000 or a*b <= 8"]`, "default: {a: 1, b: 1}")

func toyProblem(t *testing.T) *operator.Problem { return toy.Problem(t, toyOperator, 64) }

// wideToy returns the text of the toy operator with n x n configurations.
func wideToy(n int) string {
	return strings.NewReplacer(
		"{a: [1, 2, 4, 8], b: [1, 2, 3, 4]}", "{a: "+numbers(n)+", b: "+numbers(n)+"}",
		`constraints: ["a*b <= 16", "n < 1000 or a*b <= 8"]`, `constraints: []`,
	).Replace(toyOperator)
}

// search runs a search and fails the test if the search has no winner.
func search(t testing.TB, p *operator.Problem, d device.Device, o tuner.Options) *tuner.Result {
	t.Helper()
	r, err := tuner.Search(t.Context(), p, d, o)
	must.OK(t, err)
	return r
}
