// Package tuner is the search engine: for a problem and a device, it finds the fastest correct configuration and
// returns it with the evidence.
//
// A problem is an operator bound to a shape (package operator). A device is opened by package devices; a recording of a
// search can stand for a device (package recording). Search does the rest:
//
//	result, err := tuner.Search(ctx, problem, device, tuner.Options{Time: time.Minute})
//
// A search walks the space of configurations that satisfy the problem's constraints: first those with the lowest
// estimates, the untuned default and the winners of similar problems, then what a strategy proposes. While the device
// verifies and times a variant, compilers already work on the next ones. Each evaluation gives a trial, from which the
// strategy learns and which the store keeps at once, so that a search that is interrupted or repeated continues from
// the stored trials. A variant that does not compile, faults, hangs or answers wrongly becomes a trial with that status
// and never ends a search. At the end, package final times the fastest variants again in turns, and checks the winner
// on other inputs and shapes.
//
// A Result contains the Record, which the cache stores with the winner, and all trials. The names of a Result's fields
// in JSON do not change.
package tuner

import (
	"cmp"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/final"
	"autotune/tuner/store"
	"autotune/tuner/strategy"
)

// Options configure a search. A search with the zero value of Options uses the default strategy on the whole space, and
// stores nothing.
type Options struct {
	Strategy string        // name; empty: strategy.Default
	Seed     uint64        // seed of the strategy
	Budget   int           // most trials, with remembered ones; 0: no limit
	Time     time.Duration // most wall time; 0: no limit
	// Target ends the search when it is unlikely that a configuration is faster than the best one by more than this
	// factor; 1.05 stands for 5 %. A search whose best time is at the roofline, i.e. as short as a copy of the data,
	// ends at a higher chance of a gain. Target is usually strategy.Target; 0 means that no target ends the search.
	Target   float64
	Store    *store.Store         // stores trials; nil: nothing is stored
	Fresh    bool                 // ignore the trials in the store
	Only     operator.Restriction // the part of the space to search
	Gating   final.Gating         // which variants go through the gates
	Recheck  bool                 // try only First and the default, and gate the winner
	Launches int                  // launches that the first gate repeats; 0: 100
	// First lists configurations that the search tries right after the untuned default, such as winners of other
	// searches or of a recheck. Configurations in First that are not in the space are ignored.
	First    []space.Configuration
	Protocol device.Protocol // how to verify and time; zero: device.ProtocolFor
	// Conditions are the timing conditions, which are used if no other protocol is given.
	Conditions device.Conditions
	// Baselines contains times in milliseconds with which the winner is compared, and which the caller has measured in
	// the same session. The keys of Baselines are names such as torch_eager and torch_compile.
	Baselines map[string]float64
	// Rivals, if not nil, is a program such as PyTorch that is timed in turns with the winner at the end of the search.
	Rivals final.Rivals
	// Unasked says that the search times the rivals although the user did not ask for their times. If Unasked is
	// set, the search does not warn about rival programs that this machine lacks, and reuses the rivals' times from
	// an earlier search that found the same winner.
	Unasked bool
	// Mode, if not nil, is a channel that delivers the choice of the problem's math mode; the finals wait for that
	// choice.
	Mode <-chan device.ModeChoice
	// Observe is called after every trial, and once a second during a longer evaluation. The search waits until Observe
	// returns, so Observe must be quick.
	Observe func(Progress)
	// Evaluated, if not nil, is called with every evaluated trial; the search waits until Evaluated returns.
	Evaluated func(trial.Trial)
}

func (o Options) withDefaults(p *operator.Problem, d device.Device) Options {
	o.Strategy = cmp.Or(o.Strategy, strategy.Default)
	if o.Protocol.Version == 0 {
		o.Protocol = device.ProtocolFor(p.Operator)
		o.Protocol.Conditions = o.Conditions
	}
	if r, ok := d.(device.Recorded); ok { // a replay always uses the recorded protocol
		o.Protocol.Conditions = r.Conditions()
	} else if !d.Info().Kind.Properties().Measures {
		o.Protocol.Conditions = device.Conditions{} // conditions do not apply to this device
	}
	if o.Evaluated == nil {
		o.Evaluated = func(trial.Trial) {}
	}
	o.Launches = cmp.Or(o.Launches, final.Launches)
	if o.Observe == nil {
		o.Observe = func(Progress) {}
	}
	return o
}

type Phase string

const (
	Preparing Phase = "computing the reference"
	Searching Phase = "searching"
	Waiting   Phase = "waiting for PyTorch to say how it rounds"
	Finals    Phase = "timing the leaders again"
	Gate      Phase = "putting the winner through the gates"
	Beside    Phase = "timing others beside the winner"
)

type Progress struct {
	Phase    Phase
	Done     int   // trials, with remembered ones
	Planned  int64 // expected number of trials at the end
	Valid    int64 // configurations in the space
	Resumed  int   // remembered trials in Done
	ByStatus map[trial.Status]int
	Best     *trial.Trial // nil: none yet
	Default  *trial.Trial // the untuned default; nil until it is known
	Elapsed  time.Duration
	Limit    time.Duration     // most wall time; 0: no limit
	Outlook  *strategy.Outlook // what may be left to gain; nil: unknown
}

// Record is the result of a search without its trials. The cache stores a Record with each winner, and FromRecord makes
// a best-config document from a Record.
type Record struct {
	Problem  operator.ProblemRecord `json:"problem"`
	Device   device.Info            `json:"device"`
	Protocol device.Protocol        `json:"protocol"`
	Strategy string                 `json:"strategy"`
	Valid    int64                  `json:"valid"`            // configurations in the whole space
	Winner   *trial.Trial           `json:"winner,omitempty"` // nil: no variant was correct
	Evidence                        // evidence for the winner
	Default  *trial.Trial           `json:"default,omitempty"` // the untuned default's trial
	Counts
	Resumed   int             `json:"resumed"` // trials from earlier searches
	Ceilings  device.Ceilings `json:"ceilings"`
	Baselines []Baseline      `json:"baselines"`
	Seconds   float64         `json:"seconds"` // wall time
	Spent     Spent           `json:"spent"`
	Extent
	Warnings []string `json:"warnings,omitempty"` // warnings for the user, also about the winner's measurement
	// Doubts contains the warnings about the measurements of all trials, by kind.
	Doubts []trial.Warning `json:"doubts,omitempty"`
	At     time.Time       `json:"at"`
	// ReferenceDigest is the digest of the kernel that every variant was verified against.
	ReferenceDigest string `json:"reference_digest,omitempty"`
}

type Evidence struct {
	Ties  []final.Contender `json:"ties,omitempty"`  // the tie set, the winner included; empty if nothing ties with it
	Gates *final.Gates      `json:"gates,omitempty"` // gates that the winner passed; nil: none
	// Confirmation holds the time of the winner on a second worker, or is nil if no second worker timed it.
	Confirmation *final.Confirmation `json:"confirmation,omitempty"`
}

type Counts struct {
	Total    int                  `json:"total"`
	ByStatus map[trial.Status]int `json:"by_status"` // counts of the statuses that occurred
}

type Extent struct {
	Part    string            `json:"part,omitempty"`    // searched part of the space; empty: all of it
	Stop    Stop              `json:"stop,omitempty"`    // why the search ended
	Outlook *strategy.Outlook `json:"outlook,omitempty"` // last estimate of what is left to gain; nil: none
	// StartedFrom lists the problems whose winners the search tried first.
	StartedFrom []string `json:"started_from,omitempty"`
}

type Result struct {
	Record
	Problem *operator.Problem
	Trials  []trial.Trial // trials of the cache, then of this search, in the order in which they ended
}

type Baseline = final.Compared

type Stop string

const (
	Exhausted   Stop = "exhausted"   // every valid configuration was evaluated
	BudgetSpent Stop = "budget"      // the limit of trials was reached
	TimeSpent   Stop = "time"        // the time limit was reached
	StrategyEnd Stop = "strategy"    // the strategy had no more proposals
	Satisfied   Stop = "target"      // something much faster is unlikely to be left
	AtRoofline  Stop = "roofline"    // the chance is higher, but the best is as fast as a copy
	CacheFailed Stop = "cache"       // the store could not keep trials
	Interrupted Stop = "interrupted" // the caller cancelled the search
)
