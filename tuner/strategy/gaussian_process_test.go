package strategy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A Gaussian process to which points are added one by one equals a process that gets all points at once. A probe that
// was used before points were added predicts the same as a new probe.
func TestGaussianProcessGrowsAsItIsSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	at := func() []float64 { return []float64{rng.Float64(), rng.Float64(), float64(rng.IntN(2))} }
	k := covariance{categorical: []bool{false, false, true}, weights: []float64{3, 1, 0.5}}
	grown := &gaussianProcess{covariance: k, noise: 1e-3}
	watcher := &probe{point: at()}
	var points [][]float64
	var seen []float64
	for range 25 {
		points, seen = append(points, at()), append(seen, rng.NormFloat64())
	}
	if !grown.set(points[:5], seen[:5]) {
		t.Fatal("no factor")
	}
	for i := 5; i < len(points); i++ {
		grown.predict(watcher)
		if !grown.add(&probe{point: points[i]}, 0) {
			t.Fatal("a place was refused")
		}
		grown.observe(i, seen[i])
	}
	whole := &gaussianProcess{covariance: k, noise: 1e-3}
	if !whole.set(points, seen) {
		t.Fatal("no factor")
	}
	m1, d1 := grown.predict(watcher)
	m2, d2 := whole.predict(&probe{point: watcher.point})
	if math.Abs(m1-m2) > 1e-9 || math.Abs(d1-d2) > 1e-9 || math.Abs(grown.likelihood()-whole.likelihood()) > 1e-8 {
		t.Errorf("grown %v ± %v, set %v ± %v; likelihoods %v and %v", m1, d1, m2, d2, grown.likelihood(), whole.likelihood())
	}
	// At a point that was observed with little noise, a Gaussian process expects nearly the observed value.
	if mean, deviation := whole.predict(&probe{point: points[3]}); math.Abs(mean-seen[3]) > 0.2 || deviation > 0.1 {
		t.Errorf("expects %v ± %v where %v was seen", mean, deviation, seen[3])
	}
}

// At a point with the correlation k to the only observation, the process expects k/(1+v) times the observed value,
// where v is the noise.
func TestGaussianProcessByHand(t *testing.T) {
	p := &gaussianProcess{covariance: covariance{categorical: []bool{false}, weights: []float64{1}}, noise: 0.25}
	p.set([][]float64{{0}}, []float64{2})
	r := math.Sqrt(5)
	k := (1 + r + 5.0/3) * math.Exp(-r)
	mean, deviation := p.predict(&probe{point: []float64{1}})
	if math.Abs(mean-2*k/1.25) > 1e-12 || math.Abs(deviation-math.Sqrt(1-k*k/1.25)) > 1e-12 {
		t.Errorf("%v ± %v", mean, deviation)
	}
}

func TestCovarianceOfCategories(t *testing.T) {
	k := covariance{categorical: []bool{true}, weights: []float64{0.4}}
	if a, b := k.between([]float64{0}, []float64{0.1}), k.between([]float64{0}, []float64{1}); a != b || a >= 1 {
		t.Errorf("two pairs of different values are alike by %v and %v", a, b)
	}
}

func TestExpectedImprovement(t *testing.T) {
	for _, c := range []struct {
		b    belief
		best float64
		want float64
	}{
		{belief{1, 0, 1}, 3, 2},
		{belief{3, 0, 1}, 1, 0},
		{belief{0, 1, 1}, 0, 1 / math.Sqrt(2*math.Pi)},
		{belief{0, 1, 0.5}, 0, 0.5 / math.Sqrt(2*math.Pi)},
	} {
		if got := expectedImprovement(c.b, c.best); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v below %v: %v, want %v", c.b, c.best, got, c.want)
		}
	}
}

// Trees learn in which region of a space configurations fail.
func TestTrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var examples []example
	for range 200 {
		x := []float64{rng.Float64(), rng.Float64()}
		examples = append(examples, example{features: x, failed: x[1] > 0.7})
	}
	model := growTrees(rng, []bool{false, false}, examples, 20)
	if fine, broken := model.works([]float64{0.2, 0.3}), model.works([]float64{0.2, 0.9}); fine < 0.9 || broken > 0.2 {
		t.Errorf("works with %v and %v, want 1 and 0", fine, broken)
	}
}
