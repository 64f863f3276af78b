package final

import "time"

// policy holds the constants of the finals, the gates and later comparisons: see docs/gates.md and docs/measuring.md.
var policy = struct {
	// The fields from finalsShare to workerPatience limit how long the finals and the gates run or wait. The finals
	// may take 1/finalsShare of the search's time, but at least leastFinals, and the gates may take 1/gatesShare,
	// but at least leastGates.
	finalsShare, gatesShare time.Duration
	leastFinals, leastGates time.Duration
	patientGates            time.Duration // time for the gates of each variant if the user asked for all variants
	proofGates              time.Duration // time for the gates of a variant that is proved again
	workerPatience          time.Duration // how long the finals wait for a pool without workers
	lookEvery               time.Duration // how often they look for a worker

	// The fields from rounds to ahead control the rounds of the finals. In a simulation of 10 equally fast kernels
	// (TestTies), 19 of 20 seeds give one tie set with the same winner.
	rounds, tiedRounds int     // rounds if no interval overlaps the leader's, and if one does
	finalists          int     // most finalists in a round
	launches           int     // least launches of a slow variant in a round
	widestTie          float64 // largest median of a tie over the leader's: throttled GPUs have wide intervals
	ahead              int     // finalists whose neighbours are compiled before the winner is known

	// The fields from seeds to neighbours control the gates.
	seeds         int
	seedStep      uint32        // difference of seeds; tensors of one problem have consecutive seeds
	forNeighbours time.Duration // 1/forNeighbours of the time is kept for neighbours
	neighbours    int           // most ragged problems that a winner is tried on

	// The fields from turns to mostLeft control comparisons of a variant with others.
	turns       int   // turns of a variant with itself, or of a configuration with its neighbours
	turnsBeside int   // turns of the winner with its rivals
	apart       int   // most configurations between two turns of the centre
	mostLeft    int64 // tensors may take 1/mostLeft of a file system's free space
}{
	finalsShare: 5, gatesShare: 10, leastFinals: time.Second, leastGates: 3 * time.Second,
	patientGates: time.Minute, proofGates: 10 * time.Second,
	workerPatience: 20 * time.Second, lookEvery: 50 * time.Millisecond,
	rounds: 3, tiedRounds: 6, finalists: 16, launches: 5, widestTie: 1.01, ahead: 2,
	seeds: 3, seedStep: 101, forNeighbours: 4, neighbours: 3,
	turns: 6, turnsBeside: 8, apart: 7, mostLeft: 4,
}
