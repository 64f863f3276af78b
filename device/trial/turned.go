package trial

// Turned is a trial that took turns with another one of its problem.
type Turned struct {
	Trial
	Ratio float64    // of its time over the other's: the geometric mean over turns; 0: it has no time
	CI95  [2]float64 // of the ratio; zero: one turn does not tell
}
