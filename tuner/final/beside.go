package final

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"autotune/space"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// Rivals is another program that solves problems on the same GPU.
type Rivals interface {
	// Start has it make ready for a problem.
	Start(ctx context.Context, p *operator.Problem, protocol device.Protocol) (Rival, error)
}

// Rival is such a program, ready. Names are what it can be timed at; Left says why others are not. Advice is what
// to try where it is faster than the winner.
type Rival interface {
	Names() []string
	Left() []string
	Advice(all []Compared) []string
	Time(ctx context.Context, name string) (ms float64, err error) // the median of a turn
	Close() error
}

// Compared is a rival's time beside the winner's.
type Compared struct {
	Name    string
	TimeMS  float64
	Speedup float64    // of the winner over it: the geometric mean over turns
	CI95    [2]float64 // of the speedup
}

// turnsBeside is how often the winner and its rivals take turns.
const turnsBeside = 8

// Beside times a configuration of the subject's problem in turns with a rival. The ratio of two
// neighbouring turns knows nothing of clocks that drift.
func Beside(ctx context.Context, s Subject, c space.Configuration, r Rival) (all []Compared, err error) {
	v, m, err := s.begin(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	names := r.Names()
	times, ratios := make([][]float64, len(names)), make([][]float64, len(names))
	for turn := range turnsBeside {
		ours, err := m.Round(ctx, []Runner{{Variant: v}}, false)
		if err != nil {
			return nil, err
		}
		if ours[0].Status != trial.OK {
			return nil, fmt.Errorf("the winner ended as %s: %s", ours[0].Status, ours[0].Reason())
		}
		for i := range names {
			at := (i + turn) % len(names) // none always follows the winner
			ms, err := r.Time(ctx, names[at])
			if err != nil {
				return nil, err
			}
			times[at] = append(times[at], ms)
			ratios[at] = append(ratios[at], math.Log(ms/ours[0].Time.Median))
		}
	}
	for i, name := range names {
		speedup, interval := ratio(ratios[i])
		all = append(all, Compared{Name: name, TimeMS: trial.Median(times[i]), Speedup: speedup, CI95: interval})
	}
	return all, nil
}

// ratio is the geometric mean of ratios whose logarithms are given, and Student's interval of it.
func ratio(logs []float64) (mean float64, ci95 [2]float64) {
	m, deviation := stat.MeanStdDev(logs, nil)
	n := float64(len(logs))
	reach := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * deviation / math.Sqrt(n)
	return math.Exp(m), [2]float64{math.Exp(m - reach), math.Exp(m + reach)}
}
