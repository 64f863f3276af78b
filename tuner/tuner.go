// Package tuner is the engine: a problem and a device go in, the fastest correct
// configuration comes out, with the evidence.
//
// A problem is an operator bound to a shape (package operator). A device is opened by
// package devices, or is a recording that answers in its place (package replay). Search
// does the rest:
//
//	result, err := tuner.Search(ctx, problem, device, tuner.Options{Time: time.Minute})
//
// A search walks the space of configurations that satisfy the problem's constraints: first those with the lowest
// estimates, the untuned default and what won at similar problems, then what a strategy proposes. Compilers work ahead
// of the device, which verifies and times the variants. Each outcome is a trial, which the strategy learns and the store
// keeps as it arrives, so that a search that is interrupted or run again goes on where it was. A variant that does not
// compile, faults, hangs or answers wrongly is one trial with that status, and never the end of a search. At the end
// package final times the fastest again, side by side, and tries the winner on other inputs and shapes.
//
// A Result is data: the Record that is kept beside a winner, and all trials. Its fields keep their names in JSON.
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

// Options are what a search needs to know beyond the problem and the device.
// The zero value searches with the default strategy until the space is
// exhausted, and remembers nothing.
type Options struct {
	Strategy string        // by name; empty: strategy.Default
	Seed     uint64        // of the strategy
	Budget   int           // trials at most, remembered ones included; 0: no limit
	Time     time.Duration // wall time at most; 0: no limit
	// Target ends the search when a configuration faster than the best by more
	// than this factor (1.05: 5 %) is unlikely to be left, and sooner when the best
	// is at the roofline; 0: never. strategy.Target is usual.
	Target   float64
	Store    *store.Store         // where trials are kept; nil: nowhere
	Fresh    bool                 // do not use what the store remembers
	Only     operator.Restriction // the part of the space that is searched
	Gating   final.Gating         // what is put through the gates
	Recheck  bool                 // propose nothing new: time First and the default, and gate the winner
	Launches int                  // of the gate that repeats a launch; 0: 100
	// First are tried before all but the untuned default, a recheck's too: winners from elsewhere.
	// Those that are not in the space are left out.
	First    []space.Configuration
	Protocol device.Protocol // how to verify and time; zero: device.ProtocolFor
	// Conditions are those of the default protocol's samples.
	Conditions device.Conditions
	// Baselines are times in milliseconds measured elsewhere in the same
	// session, by name (torch_eager, torch_compile), to compare the winner with.
	Baselines map[string]float64
	// Rivals is, if not nil, timed beside the winner at the search's end, in turns.
	Rivals final.Rivals
	// Unasked: nobody asked for the rivals. Where there are none nothing is said, and a search that finds an earlier one's
	// winner again takes over what was timed beside it.
	Unasked bool
	// Mode gives, if it is not nil, who chose the problem's math mode, once that is known. The finals wait for it.
	Mode <-chan device.ModeChoice
	// Observe is called after every trial, and once a second while none ends. The search waits for
	// it, so it must return soon.
	Observe func(Progress)
	// Evaluated is called, if not nil, with every trial evaluated, as Observe is.
	Evaluated func(trial.Trial)
}

func (o Options) withDefaults(p *operator.Problem, d device.Device) Options {
	o.Strategy = cmp.Or(o.Strategy, strategy.Default)
	if o.Protocol.Version == 0 {
		o.Protocol = device.ProtocolFor(p.Operator)
		o.Protocol.Conditions = o.Conditions
	}
	if r, ok := d.(device.Recorded); ok { // whatever is asked for
		o.Protocol.Conditions = r.Conditions()
	} else if !d.Info().Kind.Properties().Measures {
		o.Protocol.Conditions = device.Conditions{} // they do not apply to this device
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

// Phase is what a search is at.
type Phase string

// The phases of a search.
const (
	Preparing Phase = "computing the reference"
	Searching Phase = "searching"
	Waiting   Phase = "waiting for PyTorch to say how it rounds"
	Finals    Phase = "timing the leaders again"
	Gate      Phase = "putting the winner through the gates"
	Beside    Phase = "timing others beside the winner"
)

// Progress is where a search stands.
type Progress struct {
	Phase    Phase
	Done     int   // trials, remembered ones included
	Planned  int64 // trials that the search will have at its end
	Valid    int64 // configurations in the space
	Resumed  int   // of Done, remembered
	ByStatus map[trial.Status]int
	Best     *trial.Trial // nil: none yet
	Default  *trial.Trial // the untuned baseline, nil until it is known
	Elapsed  time.Duration
	Limit    time.Duration     // wall time at most, 0: no limit
	Outlook  *strategy.Outlook // what may be left to gain; nil: not known
}

// Record is the outcome of a search without its trials. It is kept beside a
// winner, and a best-config document is made of it.
type Record struct {
	Problem  operator.ProblemRecord `json:"problem"`
	Device   device.Info            `json:"device"`
	Protocol device.Protocol        `json:"protocol"`
	Strategy string                 `json:"strategy"`
	Valid    int64                  `json:"valid"`            // configurations in the whole space
	Winner   *trial.Trial           `json:"winner,omitempty"` // nil: no variant was valid
	Evidence                        // for the winner
	Default  *trial.Trial           `json:"default,omitempty"` // the untuned baseline's trial
	Counts
	Resumed   int             `json:"resumed"` // trials remembered from earlier searches
	Ceilings  device.Ceilings `json:"ceilings"`
	Baselines []Baseline      `json:"baselines"`
	Seconds   float64         `json:"seconds"` // of wall time
	Spent     Spent           `json:"spent"`
	Extent
	Warnings []string `json:"warnings,omitempty"` // for people; those about the winner's measurement too
	// Doubts are the warnings of all trials, by kind.
	Doubts []trial.Warning `json:"doubts,omitempty"`
	At     time.Time       `json:"at"`
	// ReferenceDigest is of the kernel that every variant was verified against.
	ReferenceDigest string `json:"reference_digest,omitempty"`
}

// Evidence is what a winner is reported with beside its own trial.
type Evidence struct {
	Ties  []final.Contender `json:"ties,omitempty"`  // the winner and those that the finals could not tell from it; empty if it stands alone
	Gates *final.Gates      `json:"gates,omitempty"` // what it passed; nil: no gates
	// Confirmation is what a second worker said of it; nil: it was not asked.
	Confirmation *final.Confirmation `json:"confirmation,omitempty"`
}

// Counts are how many trials there were, and how they ended.
type Counts struct {
	Total    int                  `json:"total"`
	ByStatus map[trial.Status]int `json:"by_status"` // those that occurred
}

// Extent is which part of a space was searched, and why the search ended.
type Extent struct {
	Part    string            `json:"part,omitempty"`    // of the space; empty: all of it
	Stop    Stop              `json:"stop,omitempty"`    // why the search ended
	Outlook *strategy.Outlook `json:"outlook,omitempty"` // what may be left to gain, as last estimated; nil: it was not
	// StartedFrom are the problems whose winners were tried first.
	StartedFrom []string `json:"started_from,omitempty"`
}

// Result is the outcome of a search.
type Result struct {
	Record
	Problem *operator.Problem
	Trials  []trial.Trial // the cache's, then this search's, in the order in which they ended
}

// Baseline is a time that the winner is compared with.
type Baseline = final.Compared

// Stop says why a search ended.
type Stop string

// The reasons a search ends.
const (
	Exhausted   Stop = "exhausted"   // every valid configuration was evaluated
	BudgetSpent Stop = "budget"      // as many trials as asked for
	TimeSpent   Stop = "time"        // as long as asked for
	StrategyEnd Stop = "strategy"    // the strategy had no more to propose
	Satisfied   Stop = "target"      // something much faster is unlikely to be left
	AtRoofline  Stop = "roofline"    // the same at a higher chance: the best is as fast as a copy
	CacheFailed Stop = "cache"       // the store could not keep trials
	Interrupted Stop = "interrupted" // the caller cancelled it
)
