// Package simulate scores strategies on recorded searches, without a GPU.
//
// A recording of an exhaustive search knows for every configuration of a space
// what it scored and how long that took to find out. So a search can be played
// on it in no time: the strategy asks, the recording answers, and a clock adds
// up what each answer would have cost.
//
//	r, err := simulate.Load("recorded/gemm.json.gz")
//	report, err := simulate.Evaluate(ctx, []*simulate.Recording{r}, simulate.Options{Strategies: []string{"auto"}})
//	fmt.Println(report.Strategies[0].Mean)
//
// A score follows the community's methodology (Willemsen and others, "A
// methodology for comparing optimization algorithms for auto-tuning", 2024):
// how far a strategy is from random search (0) to the optimum (1). It is an
// average over the time that random search takes from near the median to close
// to the optimum. docs/simulation.md tells it in full. Each step has its file:
// the window of time, the baseline, the curve of a strategy, the interval.
package simulate

import (
	"slices"

	"autotune/space"
	"autotune/tuner/recording"
	"autotune/tuner/strategy"
)

// Recording is a search of a whole space, ready to be played.
type Recording struct {
	Name   string // from the file's
	File   string
	Kernel string // what the file calls it, may be empty
	Device string // likewise
	Space  *space.Space
	Rows   []Row // by the number of the configuration in Space
	// ValidConfigurations is how many the space had that was searched; 0: the
	// file does not tell.
	ValidConfigurations int64
	// Interrupted says that the file ends in the middle: the search did.
	Interrupted bool

	recorded *recording.Recording // what it was made of
}

// Partial tells whether the search left some of its space out.
func (r *Recording) Partial() bool { return r.Space.Len() < r.ValidConfigurations }

// Row is what the recording knows of one configuration.
type Row struct {
	OK     bool
	Value  float64 // the time of a launch, lower is better; of no meaning unless OK
	CostMS float64 // what it took to find out: compile, verify and benchmark
}

// outcome is what a strategy is told.
func (r Row) outcome() strategy.Outcome { return strategy.Outcome{OK: r.OK, Score: r.Value} }

// Valid returns the values of the configurations that work, best first.
func (r *Recording) Valid() []float64 {
	var values []float64
	for _, row := range r.Rows {
		if row.OK {
			values = append(values, row.Value)
		}
	}
	slices.Sort(values)
	return values
}
