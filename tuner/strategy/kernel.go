package strategy

import "math"

// kernel says how alike the losses of two configurations are taken to be, from
// 0 to 1. One share of it is additive: each dimension has an effect of its own,
// of which few outcomes tell much. The rest is a Matérn 5/2 of a distance over
// all dimensions, for effects that depend on each other. Along ordered tunables
// it is the distance in steps that counts, in categorical ones only whether
// they differ.
type kernel struct {
	categorical []bool
	weights     []float64 // of a dimension's squared difference; 0 ignores it
	additive    float64   // the share
	total       float64   // of the weights
}

func (k *kernel) at(a, b []float64) float64 {
	sum, apart := 0.0, 0.0
	for i, w := range k.weights {
		d := a[i] - b[i]
		if d == 0 {
			continue
		}
		if k.categorical[i] {
			d = 1
		}
		sum += w * d * d
		apart += w * math.Abs(d)
	}
	return (1-k.additive)*matern(sum) + k.additive*(1-apart/k.total)
}

// settle brings the total up to date with the weights.
func (k *kernel) settle() {
	k.total = 0
	for _, w := range k.weights {
		k.total += w
	}
}

// matern is the Matérn 5/2 correlation at a squared distance.
func matern(squared float64) float64 {
	if squared == 0 {
		return 1
	}
	r := math.Sqrt(5 * squared)
	return (1 + r + r*r/3) * math.Exp(-r)
}
