package strategy

// policy is what the strategies and the outlook go by. Where nothing else is said, values were chosen on the eight
// recordings of docs/strategies.md (21 to 24 November 2026).
var policy = struct {
	// The start.
	seeds       int // without expectations: configurations far from each other
	seedChoices int // of which each of them is the farthest
	likelySeeds int // with expectations, until likelyUntil outcomes work: many are asked for before any is known
	likelyUntil int
	among       int64   // configurations of a part that are looked at; they miss the best of a million by a thousandth
	clearly     float64 // times lower an expectation must be to count as clearly lower

	// The pool of candidates.
	mostKnown   int // proposals in a row that are known or under way, before one is drawn at random
	draws       int // random configurations at first
	likelyDraws int // the same with expectations: the best often hides some hundreds behind the lowest (26 November)
	refresh     int // more that come with each sweep
	around      int // of the best, whose neighbours are candidates
	sweep       int // proposals from one look at all candidates to the next
	hot         int // candidates that are looked at in between
	size        int // candidates that stay after a sweep

	// The Gaussian process.
	points, keeps          int // at most, and those that stay when it is made anew
	fitPoints, fitRounds   int // that choose the hyperparameters
	weight, noise          float64
	width                  float64 // of the priors of their logarithms
	power                  float64 // largest exponent of two, as a feature: less than a tunable's own, which has 1
	worst, failure         float64 // standardised losses: the largest, and that of a failure among failures
	cliffTrees, cliffCount int     // trees that predict failures, and the latest outcomes that they learn from
	cliffPrior             float64 // weight of the share of all configurations that work
	cliffLeaf              int     // examples that a node needs to be split

	// The outlook: chosen such that at most 5 % of the searches of docs/strategies.md end with more than the target left.
	leastOutcomes int // that work
	sample        int // configurations that are looked at
	joint, drawn  int // those drawn together, and how often
	nearest       int // of the best, whose neighbours are looked at
	recordLeast   int
	recordOdds    float64 // that something is left after one outcome without a gain, if the model's belief is one half
	modelTrust    float64 // power of the model's odds
	// The same with expectations: the model errs less (24 November).
	expectedOdds, expectedTrust float64
	beside                      float64 // chance of being faster, from which on a neighbour of the best is tried before the end

	// The end. From longSeconds on, over grows with the time that the search has taken, up to mostOver: the next gain is
	// likely to take about as long (26 November). A search whose best is as fast as data can be copied ends below atFloor:
	// the best may still be beaten by a few percent where more is read than written.
	over, longSeconds, mostOver, atFloor float64
	nearlyOver                           float64 // times the limit: the end is near
}{
	seeds: 8, seedChoices: 12, likelySeeds: 64, likelyUntil: 8, among: 4096, clearly: 1.5,
	mostKnown: 50, draws: 240, likelyDraws: 600, refresh: 30, around: 3, sweep: 10, hot: 64, size: 260,
	points: 160, keeps: 100, fitPoints: 64, fitRounds: 80, weight: 1.5, noise: 1e-3, width: 1.5, power: 0.5,
	worst: 2.5, failure: 2, cliffTrees: 12, cliffCount: 300, cliffPrior: 0.1, cliffLeaf: 3,
	leastOutcomes: 20, sample: 3000, joint: 150, drawn: 400, nearest: 5, recordLeast: 5,
	recordOdds: 10, modelTrust: 1.0 / 5, expectedOdds: 6, expectedTrust: 1.0 / 2, beside: 0.05,
	over: 0.05, longSeconds: 4, mostOver: 0.15, atFloor: 0.12, nearlyOver: 3,
}
