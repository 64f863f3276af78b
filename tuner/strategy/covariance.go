package strategy

import "math"

// covariance is the Gaussian process's covariance function: how alike the losses
// of two configurations are taken to be, from 0 to 1. It is a Matérn 5/2 of a
// distance to which each dimension adds by its own weight. Along ordered tunables
// the distance in values counts, in categorical ones only whether they differ.
type covariance struct {
	categorical []bool
	weights     []float64 // of a dimension's squared difference; 0 ignores it
}

func newCovariance(categorical []bool) covariance {
	c := covariance{categorical: categorical, weights: make([]float64, len(categorical))}
	for i := range c.weights {
		c.weights[i] = usualWeight
	}
	return c
}

func (c covariance) between(a, b []float64) float64 { return matern(c.squared(a, b)) }

// squared is the weighted distance of two configurations, squared.
func (c covariance) squared(a, b []float64) float64 {
	sum := 0.0
	for i, w := range c.weights {
		d := a[i] - b[i]
		if d == 0 {
			continue
		}
		if c.categorical[i] {
			d = 1
		}
		sum += w * d * d
	}
	return sum
}

// matern is the Matérn 5/2 correlation at a squared distance.
func matern(squared float64) float64 {
	if squared <= 0 { // below only by rounding
		return 1
	}
	r := math.Sqrt(5 * squared)
	return (1 + r + r*r/3) * math.Exp(-r)
}
