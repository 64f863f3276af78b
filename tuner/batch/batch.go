// Package batch searches many problems with one device, or with the workers of a pool,
// and reports each to its caller as it ends.
//
// Search calls the functions in its Options; it prints nothing.
package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/store"
)

// Request is a problem that a search is asked for.
type Request struct {
	Name     string // of the operator, as the user gave it
	Operator *operator.Operator
	operator.Request
	Baselines map[string]float64 // tuner.Options has them
	Share     float64            // of a program's time; 0: unknown

	weight float64       // in a budget
	limit  time.Duration // of its search, in a budget; 0: no limit
}

// String is the problem as the user asked for it, briefly.
func (r Request) String() string {
	return strings.TrimSpace(r.Operator.Name + " " + operator.FormatShape(r.Shape))
}

// Options are what the searches need to know beyond their problems. All functions may
// be nil. Found is called once at a time.
type Options struct {
	Search tuner.Options // of every search; the problems have their own Baselines
	// AnyTarget: Search.Target also ends searches whose times are not of a GPU. Usually times of a
	// CPU end no search, and a recording is replayed to its end.
	AnyTarget bool
	// Budget is for all searches together, each of which takes Search.Time at most; 0: no limit.
	Budget time.Duration
	Store  func() (*store.Store, error) // opens the cache, when it is first needed; nil: nothing is kept
	Tool   string                       // the program that searches, for the documents
	// With searches one problem, with tuner.Search if it is nil. Beside: others are searched at the same time.
	With   func(ctx context.Context, r Request, on *devices.Opened, o tuner.Options, beside bool) (*tuner.Result, error)
	Found  func(r Request, t *tuner.Result, b bestconfig.Document) error // a search has ended, with a winner or without
	Failed func(Request, error)                                          // one of several problems has no winner; ErrNoTime: the budget did not reach
	Notice func(string)                                                  // about the pool that searches problems at the same time, and about math modes
	Stands func(last bool)                                               // called every now and then while they are, and when the last has ended
}

// InterruptedError says that searches were cancelled, and what is kept of them.
type InterruptedError struct{ Message string }

func (e *InterruptedError) Error() string { return e.Message }

// NotAllError says that some of several problems have no winner.
type NotAllError struct {
	Last error // why the last of them has none
	Some bool  // others have one
}

func (e *NotAllError) Error() string { return "not every problem has a winner" }

// ErrNoTime: the budget was spent before a problem's turn came. That is no failure of a search.
var ErrNoTime = errors.New("the budget was spent")

// KeepError is that what is found cannot be kept or written. It ends all searches, since those to come would be lost, too.
type KeepError struct{ err error }

func (e *KeepError) Error() string { return e.err.Error() }

func (e *KeepError) Unwrap() error { return e.err }

// Keeping marks an error of whoever keeps what is found.
func Keeping(err error) error {
	var marked *KeepError
	if err == nil || errors.As(err, &marked) {
		return err
	}
	return &KeepError{err}
}

// Ends reports whether an error of one problem ends the searches of all: the caller cancelled them, or nothing can be kept.
func Ends(ctx context.Context, err error) bool {
	var kept *KeepError
	return err != nil && (ctx.Err() != nil || errors.As(err, &kept))
}

// Search searches the problems. Where there are at least as many as a pool has workers, each worker has a problem of
// its own: all are busy, no worker has more than one problem's tensors, and all times of a problem are of one device.
// Else one problem is searched after another, each on all that is there.
//
// The error of a single problem is its search's. Of several, each goes to Failed, and a
// *NotAllError is returned. The opener is the caller's to close.
func Search(ctx context.Context, opener *devices.Opener, problems []Request, o Options) error {
	b := &batch{Options: o, opener: opener}
	if b.With == nil {
		b.With = func(ctx context.Context, _ Request, on *devices.Opened, o tuner.Options, _ bool) (*tuner.Result, error) {
			return tuner.Search(ctx, on.Problem, on.Device, o)
		}
	}
	if b.Stands == nil {
		b.Stands = func(bool) {}
	}
	if pool := b.pool(ctx, problems); pool != nil {
		return b.sideBySide(ctx, pool, problems)
	}
	return b.oneByOne(ctx, problems)
}

// oneByOne searches one problem after another.
func (b *batch) oneByOne(ctx context.Context, problems []Request) error {
	ctx, cancel := context.WithCancel(ctx)
	next := &ahead{batch: b}
	defer next.working.Wait()
	defer cancel()
	problems = b.divide(problems, 1)
	for i, r := range problems {
		if next.next = nil; i+1 < len(problems) {
			next.next = &problems[i+1]
		}
		err := b.within(r, func(r Request) error { return b.search(ctx, r, nil, next) })
		if len(problems) == 1 || Ends(ctx, err) {
			return err
		}
		b.tally(r, err)
	}
	return b.notAll()
}

// divide begins the budget of problems, and weighs them. Several may be searched at the same time.
func (b *batch) divide(problems []Request, beside int) []Request {
	weights := Weights(lists.Of(problems, func(r Request) float64 { return r.Share }))
	b.budget = NewBudget(b.Budget, beside, weights)
	weighed := slices.Clone(problems)
	for i := range weighed {
		weighed[i].weight = weights[i]
	}
	return weighed
}

// within searches a problem in its part of the budget.
func (b *batch) within(r Request, search func(Request) error) error {
	part, ok := b.budget.Next(r.weight)
	if !ok {
		return ErrNoTime
	}
	defer b.budget.Done(part)
	r.limit = part.Limit
	return search(r)
}

// tally counts a problem that was searched, and reports one without a winner.
func (b *batch) tally(r Request, err error) {
	if err == nil {
		b.some = true
		return
	}
	if b.Failed != nil {
		b.Failed(r, err)
	}
	if !errors.Is(err, ErrNoTime) {
		b.last = err
	}
}

// notAll is the error of all searches together.
func (b *batch) notAll() error {
	if b.last == nil {
		return nil
	}
	return &NotAllError{b.last, b.some}
}

// batch is a Search.
type batch struct {
	Options
	opener  *devices.Opener
	workers device.Pool // that search the problems at the same time
	opening sync.Mutex
	telling sync.Mutex
	budget  *Budget
	last    error // why the last problem without a winner has none
	some    bool  // problems have one
}

// search searches one problem, on one worker of a pool unless that is nil.
func (b *batch) search(ctx context.Context, r Request, worker device.Device, next *ahead) error {
	o := b.options(r)
	opened, err := b.open(ctx, r, b.opener.Begin)
	if err != nil {
		return err
	}
	if worker != nil {
		opened.Device, opened.Notice = worker, ""
	}
	if r.limit > 0 && (o.Time <= 0 || r.limit < o.Time) {
		o.Time = r.limit
	}
	next.begin(ctx, opened)
	can := opened.Device.Info().Kind.Properties()
	if !can.Measures && !b.AnyTarget {
		o.Target = 0
	}
	if can.Persists && b.Store != nil {
		if o.Store, err = b.Store(); err != nil {
			return Keeping(err)
		}
	}
	o.Mode = opened.Mode
	result, err := b.With(ctx, r, opened, o, worker != nil)
	var other *devices.OtherMode
	if errors.As(err, &other) {
		if b.Notice != nil {
			b.Notice(r.String() + ": " + other.Error() + "; the search begins again")
		}
		r.Math, r.MathBy = other.Name, other.By
		return b.search(ctx, r, worker, nil)
	}
	gone := errors.Is(err, device.ErrGone)
	if result == nil || gone && worker != nil && len(b.workers.Workers()) > 0 { // another goes on with it
		return err
	}
	if err := b.deliver(r, result); err != nil {
		return Keeping(err)
	}
	if result.Stop == tuner.CacheFailed {
		return Keeping(err)
	}
	if result.Stop != tuner.Interrupted {
		return err
	}
	kept := "what was done is kept, and the same command goes on from there"
	if o.Store == nil {
		kept = "nothing of it is kept"
	}
	done := output.Count(len(result.Trials), "trial")
	if gone {
		done += ", since the workers went: " + err.Error()
	}
	return &InterruptedError{fmt.Sprintf("interrupted after %s; %s", done, kept)}
}

// options are the options of one problem's search.
func (b *batch) options(r Request) tuner.Options {
	o := b.Options.Search
	o.Baselines, o.Only = r.Baselines, r.Only
	return o
}

// open has the opener open a problem by one of its methods.
func (b *batch) open(ctx context.Context, r Request, by func(context.Context, *operator.Operator, operator.Request) (*devices.Opened, error)) (*devices.Opened, error) {
	b.opening.Lock()
	defer b.opening.Unlock()
	return by(ctx, r.Operator, r.Request)
}

// deliver reports what a search has found.
func (b *batch) deliver(r Request, result *tuner.Result) error {
	b.telling.Lock()
	defer b.telling.Unlock()
	if b.Found == nil {
		return nil
	}
	best := bestconfig.FromRecord(result.Record)
	best.Tool = b.Tool
	return b.Found(r, result, best)
}
