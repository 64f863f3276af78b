package family

import "time"

// policy holds the constants of tuning a family. docs/families.md has the slowdowns of families that were measured with
// the policy. A constant without an experiment in its comment is a limit that none of the measured families reached.
var policy = struct {
	leastSamples, mostSamples, mostHeldOut int

	// The fields from drawn to heldOutFrom control the choice of samples.
	drawn       int // shapes drawn for each sample, to find the kinds of shapes
	leastOfKind int // samples of each kind of shapes; without it, products had none of 41 to 48 rows (2026-11-25)
	tries       int // elements of Halton's sequence that are tried for each shape
	heldOutFrom int // first element of Halton's sequence for the held-out shapes

	// The fields from forTimings to aheadOf divide the time budget of a family.
	forTimings float64       // share of the budget for timings: 0.2 left no time to four families (2026-11-26)
	lastShare  float64       // weight of searches for samples' own best, which get only time that others leave
	gateTime   time.Duration // longest time for the gates of one entry
	aheadOf    int           // shapes that are compiled ahead of being timed

	// nearBest is the largest ratio of a candidate's time to the fastest time in the same search. If only the fastest
	// kernel of each search were a candidate, families of pools would take 1.056 instead of 1.011 times the best time
	// at held-out shapes (2026-11-26).
	nearBest            float64
	mostNear            int // most candidates from one search
	mostConfigurations  int // 72 gave no better choice for two families of products (2026-11-26)
	leastConfigurations int
	mostCandidates      int           // kernels: a configuration may be compiled for several alignments
	leastTiming         time.Duration // estimated time of timing one kernel at a sample

	// The first round stops timing a kernel when it is clearly slower than farBehind times the fastest kernel. With a
	// smaller farBehind, kernels had fewer samples, and the tree chose kernels of 1.050 instead of 1.047 times the best
	// time at held-out shapes (2026-11-26). The second round times again the kernels that are within nearFastest times
	// the usual limit of a race, which stops slow kernels early.
	farBehind, nearFastest float64

	// The fields from beyondBest to mostEntries control the choice of entries.
	beyondBest  float64 // a sample's limit over its best candidate, if even that is slower than allowed
	overLimit   float64 // penalty for a sample beyond its limit, in logarithms: more than any speedup gains
	entryPrice  float64 // logarithm by which an entry must lower the geometric mean
	mostEntries int

	// The fields from mostDepth to unserved limit the decision tree.
	mostDepth int
	// leafPrice is how much an additional leaf must lower the mean loss of a sample. With a leafPrice of 0.005,
	// decision trees of 20 and 40 samples were better than with 0.001 in simulations of noisy times, and hardly worse
	// than with 0.01 (2026-11-29).
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
