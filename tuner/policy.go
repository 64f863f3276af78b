package tuner

import (
	"time"

	"autotune/device"
)

// policy is what the loop of a search goes by. docs/strategies.md has the endings that the outlook gives.
var policy = struct {
	// Before the strategy is asked.
	likely int // configurations that are tried since their estimates are low (2026-11-22; docs/writing-an-operator.md)
	warm   int // problems whose winners are tried

	// Time.
	leastGrace       time.Duration // that a search without a winner goes on, at least
	progressInterval time.Duration // from one call of Observe to the next while no trial ends
	outlookInterval  time.Duration // from one estimate of what is left to gain to the next, if outcomes are new
	outlookNews      int           // outcomes
	replayedNews     int           // outcomes, in a replay, whose clock means nothing
	lookInterval     time.Duration // from one look for a pool's workers to the next, once the time is up

	// Work under way. The strategy knows fewer outcomes the more is under way, so there is only as much as keeps all
	// devices busy (docs/distributed.md, 2026-11-22).
	deviceShare  int     // jobs that a device has at once: the one that it evaluates and the next
	compilations int     // side by side, at most
	aheadAtFirst int     // compilations a device before anything is known
	aheadMargin  float64 // since no two compilations take as long
	besideRivals int64   // times a problem's memory a GPU must have for a search while a rival prepares the problem, too

	// A template is given up at this sum of harms if none of its variants has ended well, and other templates are
	// there. Three crashes cost as much time as a hundred other variants, two that hang cost seconds (2026-11-23).
	asideAfter, crash, hang int
}{
	likely: 8, warm: 3,
	leastGrace: 2 * time.Second, progressInterval: time.Second,
	outlookInterval: 200 * time.Millisecond, outlookNews: 5, replayedNews: 15,
	lookInterval: 50 * time.Millisecond,
	deviceShare:  2, compilations: 8 * device.MostWorkers, aheadAtFirst: 8, aheadMargin: 1.5, besideRivals: 3,
	asideAfter: 3, crash: 1, hang: 2,
}
