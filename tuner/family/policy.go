package family

import "time"

// policy is what a family goes by. docs/families.md has the slowdowns that families measured with it. A field without
// an experiment is a bound that those families did not meet.
var policy = struct {
	leastSamples, mostSamples, mostHeldOut int

	// Samples.
	drawn       int // times as many shapes as samples are drawn, to see which kinds there are
	leastOfKind int // samples of a kind of shapes: without, products had none of 41 to 48 rows (2026-11-25)
	tries       int // places of the sequence that are looked at for one shape
	heldOutFrom int // place of the sequence

	// Time.
	forTimings float64       // of the budget: with a fifth, four families had no time left for timings (2026-11-26)
	lastShare  float64       // of the samples' own searches, which have what the others leave
	gateTime   time.Duration // that the gates of one entry may take
	aheadOf    int           // shapes that are compiled before their turn

	// Candidates.
	// nearBest is how many times the fastest of its search a candidate may take. Without near ones the best entries of
	// pools were 1.056 times the own best at shapes held out, with them 1.011 (2026-11-26).
	nearBest            float64
	mostNear            int // of one search
	mostConfigurations  int // 72 did not choose better on the times of two families of products (2026-11-26)
	leastConfigurations int
	mostCandidates      int           // kernels: a configuration may be compiled for each alignment
	leastTiming         time.Duration // of a kernel at a sample

	// Times. The first round cuts short what takes clearly more than farBehind times the fastest: racing against the
	// fastest itself left the tree with few samples of many kernels, 1.050 for 1.047 at shapes held out (2026-11-26).
	// The second round is for what a usual race would keep, or miss by nearFastest.
	farBehind, nearFastest float64

	// Entries.
	beyondBest  float64 // times the best candidate, which a sample may take where even that is slower than allowed
	overLimit   float64 // cost of a sample beyond its limit, in logarithms: more than any speed gains
	entryPrice  float64 // by which an entry must lower the geometric mean
	mostEntries int

	// The tree.
	mostDepth int
	// leafPrice is by how much a leaf must lower the mean loss of a sample. Of kernels whose waves were simulated with
	// noise, trees of 20 and 40 samples do better with 0.005 than with 0.001, and hardly better with 0.01 (2026-11-29).
	leafPrice float64
	unserved  float64 // slowdown of a shape that no kernel serves
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
