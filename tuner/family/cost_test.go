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
		o.samples, o.ms = append(o.samples, i), append(o.ms, ms*(1+0.02*(r.Float64()-0.5)))
	}
	o.counts = []count{other, of}
	return o, of.values
}

// A cost finds what the times grow with, and foretells a sample that it was not made from.
func TestCostForetells(t *testing.T) {
	const sms = 132
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		o, blocks := timesAt(r, 1e-3+r.Float64()*1e-2, r.Float64()*1e-2, r.Float64()*1e-5, sms)
		all := o.squaresOf(sms, 1e-3)
		for without := range o.samples {
			c, ok := fit(all, without)
			if !ok || c.text != "blocks" {
				t.Fatalf("%+v, %v: the times grow with blocks", c, ok)
			}
			v, err := expr.MustParse(c.formula()).Eval(map[string]expr.Value{"blocks": expr.Int(int64(blocks[without]))})
			if n, isInt := v.AsInt(); err != nil || !isInt || math.Abs(float64(n)*1e-12/o.ms[without]-1) > 0.08 {
				t.Errorf("%s gives %v for %v blocks, which take %v ms: %v", c.formula(), v, blocks[without], o.ms[without], err)
			}
		}
	}
}

// Few samples make a cost of one number above the floor, none make no cost, and no term is negative.
func TestCostOfLittle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	o, _ := timesAt(r, 1e-3, 1e-3, 0, 100)
	const floor = 1e-3
	for n := range 4 {
		few := timesOf{counts: []count{{"blocks", []float64{100, 200, 300}[:n]}}}
		for i, blocks := range few.counts[0].values {
			few.samples, few.ms = append(few.samples, i), append(few.ms, floor+1e-5*blocks)
		}
		c, ok := fit(few.squaresOf(100, floor), -1)
		if want := (cost{"blocks", floor, 0, 1e-5, c.in}); ok != (n > 0) || ok && (c.text != want.text || c.start != floor || math.Abs(c.each/want.each-1) > 1e-6) {
			t.Errorf("%d samples: %+v, %v", n, c, ok)
		}
		if _, ok := fit(few.squaresOf(100, floor), 0); ok != (n > 1) {
			t.Errorf("%d samples without the first: %v", n, ok)
		}
	}
	for i := range o.ms {
		o.ms[i] = 1 / (1 + o.counts[1].values[i]) // it shrinks
	}
	if c, _ := fit(o.squaresOf(100, floor), -1); c.start < 0 || c.wave < 0 || c.each < 0 || strings.Contains(c.formula(), "-") {
		t.Errorf("%s", c.formula())
	}
}
