// Package batch searches many problems with one device, or with the workers of a pool, and reports each search to its
// caller when it ends.
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

// Request is a problem that the user wants to have searched.
type Request struct {
	Name     string // the operator's name, as the user gave it
	Operator *operator.Operator
	operator.Request
	Baselines map[string]float64 // they become tuner.Options.Baselines
	Share     float64            // the problem's part of a program's time; 0 if unknown

	weight float64       // the problem's weight in a budget
	limit  time.Duration // the budget's time limit for this search; 0: no limit
}

// String returns the name of the request's operator and the shape that the user asked for.
func (r Request) String() string {
	return strings.TrimSpace(r.Operator.Name + " " + operator.FormatShape(r.Shape))
}

// Options configure all searches of a batch. All functions in the Options may be nil. Calls of Found never overlap.
type Options struct {
	Search tuner.Options // options of every search; its Baselines come from the Requests
	// AnyTarget makes Search.Target also end searches whose times were not measured on a GPU. Without AnyTarget, Target
	// is ignored on a CPU, and a recording is replayed to its end.
	AnyTarget bool
	// Budget is the time limit for all searches together, or 0 for none; each search also obeys Search.Time.
	Budget time.Duration
	Store  func() (*store.Store, error) // opens the cache when it is first needed; nil: nothing is kept
	Tool   string                       // name and version of the program that searches, for the documents
	// With is the function that searches one problem; nil stands for tuner.Search. The argument `beside` says that
	// other problems are searched at the same time.
	With   func(ctx context.Context, r Request, on *devices.Opened, o tuner.Options, beside bool) (*tuner.Result, error)
	Found  func(r Request, t *tuner.Result, b bestconfig.Document) error // called when a search ends
	Failed func(Request, error)                                          // called if one of several problems fails
	Notice func(string)                                                  // tells the user about pools and math modes
	Stands func(last bool)                                               // called now and then, with last at the end
}

// InterruptedError says that the searches were cancelled, and which of their trials were kept.
type InterruptedError struct{ Message string }

func (e *InterruptedError) Error() string { return e.Message }

// NotAllError says that at least one of several problems has no winner.
type NotAllError struct {
	Last error // why the last problem without a winner has none
	Some bool  // whether other problems have a winner
}

func (e *NotAllError) Error() string { return "not every problem has a winner" }

// ErrNoTime says that the budget was spent before a problem's turn came; a caller should not report the problem as a
// failed search.
var ErrNoTime = errors.New("the budget was spent")

// KeepError ends the batch: a search's result could not be stored, so later results would be lost, too.
type KeepError struct{ err error }

func (e *KeepError) Error() string { return e.err.Error() }

func (e *KeepError) Unwrap() error { return e.err }

// Keeping wraps an error in a KeepError, which says that a result could not be stored.
func Keeping(err error) error {
	var marked *KeepError
	if err == nil || errors.As(err, &marked) {
		return err
	}
	return &KeepError{err}
}

// Ends reports whether an error of one problem ends all searches, because the searches were cancelled or results cannot
// be stored.
func Ends(ctx context.Context, err error) bool {
	var kept *KeepError
	return err != nil && (ctx.Err() != nil || errors.As(err, &kept))
}

// Search searches the problems. If there are at least as many problems as a pool has workers, each worker searches a
// problem of its own: all workers are busy, none holds the tensors of two problems, and all times of a problem are of
// one device. With fewer problems than workers, the problems are searched one after another, each on all workers.
//
// If there is only one problem, Search returns the error of that problem's search. With several problems, each error
// goes to Failed, and Search returns a *NotAllError. The caller of Search must close the opener.
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

// divide starts the budget's clock and gives each problem its weight. The argument `beside` is the number of problems
// that are searched at the same time.
func (b *batch) divide(problems []Request, beside int) []Request {
	weights := Weights(lists.Of(problems, func(r Request) float64 { return r.Share }))
	b.budget = NewBudget(b.Budget, beside, weights)
	weighed := slices.Clone(problems)
	for i := range weighed {
		weighed[i].weight = weights[i]
	}
	return weighed
}

// within searches a problem, and limits the search to the part of the budget that the problem gets.
func (b *batch) within(r Request, search func(Request) error) error {
	part, ok := b.budget.Next(r.weight)
	if !ok {
		return ErrNoTime
	}
	defer b.budget.Done(part)
	r.limit = part.Limit
	return search(r)
}

// tally records whether a searched problem has a winner, and reports a problem without one to Failed.
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

// notAll returns a *NotAllError if at least one problem has no winner, otherwise nil.
func (b *batch) notAll() error {
	if b.last == nil {
		return nil
	}
	return &NotAllError{b.last, b.some}
}

// batch is the state of one call of Search.
type batch struct {
	Options
	opener  *devices.Opener
	workers device.Pool // workers of the pool, if problems are searched at the same time
	opening sync.Mutex
	telling sync.Mutex
	budget  *Budget
	last    error // why the last problem without a winner has none
	some    bool  // whether any problem has a winner
}

// search searches one problem, on the given worker of a pool, or on the opened device if worker is nil.
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
	if result == nil || gone && worker != nil && len(b.workers.Workers()) > 0 { // another worker continues this search
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

// options returns the options for the search of one problem.
func (b *batch) options(r Request) tuner.Options {
	o := b.Options.Search
	o.Baselines, o.Only = r.Baselines, r.Only
	return o
}

// open calls a method of the opener that opens a problem; one problem is opened at a time.
func (b *batch) open(ctx context.Context, r Request, by func(context.Context, *operator.Operator, operator.Request) (*devices.Opened, error)) (*devices.Opened, error) {
	b.opening.Lock()
	defer b.opening.Unlock()
	return by(ctx, r.Operator, r.Request)
}

// deliver passes the result of a search to the function Found.
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
