package tuner

import (
	"time"

	"autotune/device"
)

// policy holds the constants of the main loop of a search. docs/strategies.md lists how searches end with these
// constants.
var policy = struct {
	// The fields likely and warm limit the trials that a search makes before its strategy's proposals.
	likely int // configurations tried for their low estimates (2026-11-22; docs/writing-an-operator.md)
	warm   int // nearby problems whose winners are tried

	// The fields from leastGrace to replayedNews say how long a search's loop waits, and after how many outcomes
	// the search estimates again what is left to gain.
	leastGrace       time.Duration // least time that a search without a winner continues after its limit
	progressInterval time.Duration // time between calls of Observe while no trial ends
	outlookInterval  time.Duration // time between estimates of what is left to gain
	outlookNews      int           // new outcomes that a new estimate needs
	replayedNews     int           // new outcomes that a new estimate needs in a replay, whose clock means nothing
	lookInterval     time.Duration // time between looks for a pool's workers, after the time limit

	// The fields from deviceShare to besideRivals limit how many configurations are compiled or evaluated at once. With
	// more work under way, the strategy proposes with fewer outcomes, so only as much work is begun as keeps all
	// devices busy (docs/distributed.md, 2026-11-22).
	deviceShare  int     // jobs that a device has at once: one that it evaluates and the next
	compilations int     // most compilations at the same time
	aheadAtFirst int     // compilations for each device before any time is known
	aheadMargin  float64 // margin, since compilations differ in length
	besideRivals int64   // a rival may prepare during the search if the GPU has this many times the memory

	// Each crash and each hang of a template's variants counts with the weight in the field crash or hang; a search
	// gives the template up when the sum reaches asideAfter, provided that no variant of the template ended well
	// and variants of other templates did. Three crashes cost as much time as a hundred other variants, and two
	// variants that hang cost seconds (2026-11-23).
	asideAfter, crash, hang int
}{
	likely: 8, warm: 3,
	leastGrace: 2 * time.Second, progressInterval: time.Second,
	outlookInterval: 200 * time.Millisecond, outlookNews: 5, replayedNews: 15,
	lookInterval: 50 * time.Millisecond,
	deviceShare:  2, compilations: 8 * device.MostWorkers, aheadAtFirst: 8, aheadMargin: 1.5, besideRivals: 3,
	asideAfter: 3, crash: 1, hang: 2,
}
