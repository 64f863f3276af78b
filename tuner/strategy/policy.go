package strategy

// policy holds the constants of the strategies and the outlook. Unless a field's comment says otherwise, the constants
// were chosen on the eight recordings of docs/strategies.md (21 to 24 November 2026).
var policy = struct {
	// The fields from seeds to clearly control the first proposals of a strategy.
	seeds       int // without expectations: configurations far from each other
	seedChoices int // candidates for each of the seeds
	likelySeeds int // most proposals with expectations, until likelyUntil outcomes work
	likelyUntil int
	among       int64   // configurations of a part with computed expectations; they miss the best of a million by 0.1 %
	clearly     float64 // factor by which an expectation must be lower to count as clearly lower

	// The fields from mostKnown to size control the pool of candidates from which a strategy proposes.
	mostKnown   int // known proposals in a row before a random one
	draws       int // random configurations at first
	likelyDraws int // the same with expectations: the best is often hundreds behind the lowest (26 November)
	refresh     int // configurations added at each sweep
	around      int // best configurations whose neighbours are candidates
	sweep       int // proposals between two ratings of all candidates
	hot         int // candidates that are rated for each proposal
	size        int // candidates that stay after a sweep

	// The fields from points to cliffLeaf control the Gaussian process and the trees that predict failures.
	points, keeps          int // most points, and those that stay when the model is rebuilt
	fitPoints, fitRounds   int // numbers of points and rounds for the choice of hyperparameters
	weight, noise          float64
	width                  float64 // width of the priors of the logarithms of weight and noise
	power                  float64 // largest feature for an exponent of two; a tunable's own feature has 1
	worst, failure         float64 // standardised losses: the largest, and that of a failure among failures
	cliffTrees, cliffCount int     // trees that predict failures, and number of latest outcomes to learn from
	cliffPrior             float64 // weight of the share of all configurations that work
	cliffLeaf              int     // least examples of a node that is split

	// The fields from leastOutcomes to beside control the outlook, i.e. the estimate of what a search may still gain.
	// With the constants of the outlook, at most 5 % of the searches in docs/strategies.md end although a gain of more
	// than the target is left.
	leastOutcomes int // working outcomes that an estimate needs
	sample        int // configurations that are considered
	joint, drawn  int // configurations in the joint distribution, and number of draws
	nearest       int // best configurations whose neighbours are considered
	recordLeast   int
	recordOdds    float64 // odds of a gain after one outcome without a gain, if the model's belief is one half
	modelTrust    float64 // exponent of the model's odds
	// If there are expected scores, expectedOdds and expectedTrust replace recordOdds and modelTrust (24 November).
	expectedOdds, expectedTrust float64
	beside                      float64 // least chance with which a neighbour of the best is tried before the end

	// A search may end when the chance of a gain is below `over`. After a search has run for longSeconds, the limit
	// `over` on the chance of a gain grows with the search's time up to mostOver, since the next gain takes about
	// as long as the whole search before it (26 November). A search whose best time is at the roofline ends when
	// the chance is below atFloor, because the roofline itself may be beaten by a few percent if the kernel reads
	// more data than it writes.
	over, longSeconds, mostOver, atFloor float64
	nearlyOver                           float64 // multiple of the limit from which the end is near
}{
	seeds: 8, seedChoices: 12, likelySeeds: 64, likelyUntil: 8, among: 4096, clearly: 1.5,
	mostKnown: 50, draws: 240, likelyDraws: 600, refresh: 30, around: 3, sweep: 10, hot: 64, size: 260,
	points: 160, keeps: 100, fitPoints: 64, fitRounds: 80, weight: 1.5, noise: 1e-3, width: 1.5, power: 0.5,
	worst: 2.5, failure: 2, cliffTrees: 12, cliffCount: 300, cliffPrior: 0.1, cliffLeaf: 3,
	leastOutcomes: 20, sample: 3000, joint: 150, drawn: 400, nearest: 5, recordLeast: 5,
	recordOdds: 10, modelTrust: 1.0 / 5, expectedOdds: 6, expectedTrust: 1.0 / 2, beside: 0.05,
	over: 0.05, longSeconds: 4, mostOver: 0.15, atFloor: 0.12, nearlyOver: 3,
}
