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
			c := fit(all, without)
			if len(c) == 0 || c[0].text != "blocks" {
				t.Fatalf("%+v: the times grow with blocks", c)
			}
			v, err := expr.MustParse(formula(c[:1])).Eval(map[string]expr.Value{"blocks": expr.Int(int64(blocks[without]))})
			if n, isInt := v.AsInt(); err != nil || !isInt || math.Abs(float64(n)*1e-12/o.ms[without]-1) > 0.08 {
				t.Errorf("%s gives %v for %v blocks, which take %v ms: %v", formula(c[:1]), v, blocks[without], o.ms[without], err)
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
		c := fit(few.squaresOf(100, floor), -1)
		if (len(c) == 1) != (n > 0) || n > 0 && (c[0].text != "blocks" || c[0].start != floor || c[0].wave != 0 || math.Abs(c[0].each/1e-5-1) > 1e-6) {
			t.Errorf("%d samples: %+v", n, c)
		}
		if c := fit(few.squaresOf(100, floor), 0); (len(c) == 1) != (n > 1) {
			t.Errorf("%d samples without the first: %+v", n, c)
		}
	}
	for i := range o.ms {
		o.ms[i] = 1 / (1 + o.counts[1].values[i]) // it shrinks
	}
	if text := formula(fit(o.squaresOf(100, floor), -1)); strings.Contains(text, "-") {
		t.Error(text)
	}
	two := []cost{{"a", 3, 0, 4, 1}, {"b + 1", 1, 2, 6, 7}}
	if text, want := formula(two), "2000000000000 + 2000000000000*a + 1000000000000*ceil_div(b + 1, 7) + 3000000000000*(b + 1)"; text != want {
		t.Errorf("the mean is %s, want %s", text, want)
	}
}
