package family

import "time"

// policy holds the constants of tuning a family. docs/families.md has the slowdowns of families that were measured with
// the policy. A constant without an experiment in its comment is a bound that those families did not reach.
var policy = struct {
	leastSamples, mostSamples, mostHeldOut int

	// The fields up to heldOutFrom are for the choice of samples.
	drawn       int // shapes drawn for each sample, to find the kinds of shapes
	leastOfKind int // samples of each kind of shapes; without it, products had none of 41 to 48 rows (2026-11-25)
	tries       int // elements of Halton's sequence that are tried for each shape
	heldOutFrom int // first element of Halton's sequence for the held-out shapes

	// The fields up to aheadOf divide the time.
	forTimings float64       // share of the budget for timings: 0.2 left no time to four families (2026-11-26)
	lastShare  float64       // weight of searches for samples' own best, which get only time that others leave
	gateTime   time.Duration // longest time for the gates of one entry
	aheadOf    int           // shapes that are compiled ahead of being timed

	// nearBest is the largest ratio of a candidate's time to the fastest time of its search. If only the fastest
	// kernels were candidates, families of pools would take 1.056 instead of 1.011 times the held-out shapes' own best
	// (2026-11-26).
	nearBest            float64
	mostNear            int // most candidates from one search
	mostConfigurations  int // 72 gave no better choice for two families of products (2026-11-26)
	leastConfigurations int
	mostCandidates      int           // kernels: a configuration may be compiled for several alignments
	leastTiming         time.Duration // estimated time of timing one kernel at a sample

	// The first round stops timing kernels clearly beyond farBehind times the fastest. With a stricter race, kernels
	// had fewer samples, and the tree chose kernels of 1.050 instead of 1.047 times the own best at held-out shapes
	// (2026-11-26). The second round repeats kernels within nearFastest times the usual limit of a race.
	farBehind, nearFastest float64

	// The fields up to mostEntries are for the choice of entries.
	beyondBest  float64 // a sample's limit over its best candidate, if even that is slower than allowed
	overLimit   float64 // penalty for a sample beyond its limit, in logarithms: more than any speedup gains
	entryPrice  float64 // logarithm by which an entry must lower the geometric mean
	mostEntries int

	// The last fields limit the decision tree.
	mostDepth int
	// leafPrice is how much an additional leaf must lower the mean loss of a sample. In simulations of kernels with
	// noisy times, trees of 20 and 40 samples were better with 0.005 than with 0.001, and hardly better with 0.01
	// (2026-11-29).
	leafPrice float64
	unserved  float64 // slowdown that counts for a shape that no kernel serves
}{
	leastSamples: 2, mostSamples: 64, mostHeldOut: 64,
	drawn: 8, leastOfKind: 2, tries: 200, heldOutFrom: 1009,
	forTimings: 0.4, lastShare: 1e-6, gateTime: 3 * time.Second, aheadOf: 8,
	nearBest: 1.08, mostNear: 16, mostConfigurations: 48, leastConfigurations: 8, mostCandidates: 240,
	leastTiming: 20 * time.Millisecond,
	farBehind:   1.5, nearFastest: 1.05,
	beyondBest: 1.02, overLimit: 1000, entryPrice: 0.001, mostEntries: 40,
	mostDepth: 6, leafPrice: 0.005, unserved: 1e6,
}
