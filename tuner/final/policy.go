package final

import "time"

// policy is what the finals, the gates and later comparisons go by. docs/gates.md and docs/measuring.md describe them.
var policy = struct {
	// Time. The finals and the gates take shares of the search's time, one in so many, and at least these times: a
	// search of some seconds keeps most of its time for trials.
	finalsShare, gatesShare time.Duration
	leastFinals, leastGates time.Duration
	patientGates            time.Duration // if the user asked for every variant to go through them
	proofGates              time.Duration // of a variant that is proved again
	workerPatience          time.Duration // for a pool that has no worker
	lookEvery               time.Duration // for one

	// Rounds. With them 10 equal kernels are one tie set with one winner in 19 of 20 seeds (TestTies).
	rounds, tiedRounds int     // if no interval reaches the leader's, and if one does
	finalists          int     // in a round
	launches           int     // of even a slow variant in a round
	widestTie          float64 // times the leader's median: on a throttled GPU the leader's interval may be wide
	ahead              int     // finalists whose neighbours are compiled before the winner is known

	// Gates.
	seeds         int
	seedStep      uint32        // tensors of one problem have consecutive seeds
	forNeighbours time.Duration // share of the time that other inputs leave for neighbours, one in so many
	neighbours    int           // ragged problems that a winner is tried on

	// Comparisons.
	turns       int     // of a variant with itself, or of a configuration with its neighbours
	turnsBeside int     // of the winner with its rivals
	apart       int     // configurations that are timed between two turns of the centre
	apartBeyond float64 // ratio of one variant's times on two workers of a model, from which on a warning says so
	mostLeft    int64   // share of a file system's free space that tensors may take, one in so many
}{
	finalsShare: 5, gatesShare: 10, leastFinals: time.Second, leastGates: 3 * time.Second,
	patientGates: time.Minute, proofGates: 10 * time.Second,
	workerPatience: 20 * time.Second, lookEvery: 50 * time.Millisecond,
	rounds: 3, tiedRounds: 6, finalists: 16, launches: 5, widestTie: 1.01, ahead: 2,
	seeds: 3, seedStep: 101, forNeighbours: 4, neighbours: 3,
	turns: 6, turnsBeside: 8, apart: 7, apartBeyond: 1.02, mostLeft: 4,
}
