package family

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"autotune/space/expr"
)

// timesAt are times with noise that grow with the blocks among some counts.
func timesAt(r *rand.Rand, start, wave, each float64, sms int64) (o timesOf, blocks []float64) {
	other := count{text: "other"}
	of := count{text: "blocks"}
	for i := range 40 {
		n := math.Floor(math.Exp(r.Float64() * 8))
		of.values, other.values = append(of.values, n), append(other.values, math.Floor(1e6*r.Float64()))
		ms := start + wave*math.Ceil(n/float64(2*sms)) + each*n
		o.shapes, o.ms = append(o.shapes, i), append(o.ms, ms*(1+0.02*(r.Float64()-0.5)))
	}
	o.counts = []count{other, of}
	return o, of.values
}

// A cost finds what the times grow with, and foretells a shape that it was not made from.
func TestCostForetells(t *testing.T) {
	const sms = 132
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		o, blocks := timesAt(r, 1e-3+r.Float64()*1e-2, r.Float64()*1e-2, r.Float64()*1e-5, sms)
		other := o.counts[0].values
		o.counts = withWaves(o.counts, sms)
		for without := range o.shapes {
			c, ok := o.fit(func(shape int) bool { return shape != without })
			if !ok {
				t.Fatal("no cost")
			}
			at := map[string]expr.Value{"blocks": expr.Int(int64(blocks[without])), "other": expr.Int(int64(other[without]))}
			v, err := expr.MustParse(formula(c)).Eval(at)
			if n, isInt := v.AsInt(); err != nil || !isInt || math.Abs(float64(n)*1e-12/o.ms[without]-1) > 0.12 {
				t.Errorf("%s gives %v for %v blocks, which take %v ms: %v", formula(c), v, blocks[without], o.ms[without], err)
			}
		}
	}
}

// One shape is enough for a cost, none are not, and no term is negative.
func TestCostOfLittle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	o, _ := timesAt(r, 1e-3, 1e-3, 0, 100)
	for n := range 4 {
		few := timesOf{counts: []count{{"blocks", []float64{100, 200, 300}[:n]}}}
		for i, blocks := range few.counts[0].values {
			few.shapes, few.ms = append(few.shapes, i), append(few.ms, 1e-5*blocks)
		}
		few.counts = withWaves(few.counts, 100)
		c, ok := few.fit(anyShape)
		if ok != (n > 0) {
			t.Errorf("%d shapes: %+v", n, c)
		}
	}
	for i := range o.ms {
		o.ms[i] = 1 / (1 + o.counts[1].values[i]) // it shrinks
	}
	o.counts = withWaves(o.counts, 100)
	if c, _ := o.fit(anyShape); strings.Contains(formula(c), "-") {
		t.Error(formula(c))
	}
	c := []term{{"", 1}, {"ceil_div(b, 7)", 2}, {"b + 1", 6}}
	if text, want := formula(c), "1000000000000 + 2000000000000*ceil_div(b, 7) + 6000000000000*(b + 1)"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
}
