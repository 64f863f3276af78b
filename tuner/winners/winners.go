// Package winners chooses the winner that a user means, among those that a cache keeps or
// in a recording. It finds the winner's kernel in the operator as it is today.
//
// A Request says which winner is meant. InCache, Shipped and Recorded answer with a
// Chosen. Where a cache has other winners only, the error is a *NoneError.
package winners

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
	"autotune/tuner/store"
)

// Request is what a user asks for: the winner of a problem.
type Request struct {
	Operator *operator.Operator
	operator.Request
	Conditions device.Conditions // of its time, in a cache
	Device     string            // its kind or part of its name; "" and "auto": any, a GPU's first
	Trials     bool              // with all trials of the problem
	// AsRecorded takes a recording as it is, even if kernels were edited since. Such a winner has
	// no kernel.
	AsRecorded bool
	Tool       string // the program that asks, for what it writes
}

// Chosen is the winner that answers a request.
type Chosen struct {
	cudasource.Winner
	Kept    Kept          // as the cache has it; empty: it is of a recording
	Trials  []trial.Trial // of the problem, where they are asked for
	Notices []string      // what may surprise a user in the answer
}

// NoneError says that there is no such winner, and what there is instead.
type NoneError struct{ Message string }

func (e *NoneError) Error() string { return e.Message }

// Check refuses a request that is wrong on every device.
func (r Request) Check() error {
	_, err := r.Operator.Bind(r.Request, operator.TypicalLimits())
	return err
}

func (r Request) String() string {
	p, err := r.Operator.Bind(r.Request, operator.TypicalLimits())
	if err != nil {
		return r.Operator.Name
	}
	return p.String()
}

// names reports whether a problem is the one asked for. What the math mode auto means is
// up to the device that the problem was solved on, or to the PyTorch that was there.
func (r Request) names(p operator.ProblemRecord, d device.Info) bool {
	if operator.AutoMath(r.Math) && p.MathBy != "" {
		r.Math = p.Math
	}
	bound, err := r.Operator.Bind(r.Request, LimitsOf(d))
	return err == nil && bound.String() == p.Text
}

// Means reports whether the request is for winners of a device. A GPU's number, which may follow the
// kind, is ignored: the cache does not keep it.
func (r Request) Means(d device.Info) bool {
	kind, _, _ := strings.Cut(r.Device, ":")
	return cmp.Or(r.Device, "auto") == "auto" || kind == string(d.Kind) ||
		strings.Contains(strings.ToLower(d.Name), strings.ToLower(r.Device))
}

// LimitsOf are a device's limits; typical ones where a document has none.
func LimitsOf(d device.Info) operator.Limits {
	if d.Limits.Arch == 0 {
		return operator.TypicalLimits()
	}
	return d.Limits
}

// Shipped takes the fastest variant of the recording in this binary that is of exactly
// the problem. The error is recording.ErrNotFound where there is none.
func (r Request) Shipped(ctx context.Context) (Chosen, error) {
	entry, p, err := recording.FindRequest(recording.Shipped(), r.Operator, r.Request, r.Means)
	if err != nil {
		return Chosen{}, err
	}
	recorded, err := recording.LoadFS(recording.Shipped(), entry.Name)
	if err != nil {
		return Chosen{}, err
	}
	return r.fastest(ctx, recorded, p)
}

// Recorded takes the fastest variant of a recording of the problem.
func (r Request) Recorded(ctx context.Context, recorded *recording.Recording) (Chosen, error) {
	m := recorded.Metadata
	p, err := r.Operator.Bind(r.Request, m.Device.Limits)
	if err != nil {
		return Chosen{}, err
	}
	if p.String() != m.Problem.Text {
		return Chosen{}, fmt.Errorf("%s holds %s, not %s", recorded.File, m.Problem.Text, p)
	}
	return r.fastest(ctx, recorded, p)
}

func (r Request) fastest(ctx context.Context, recorded *recording.Recording, p *operator.Problem) (w Chosen, err error) {
	best, trials, err := bestconfig.FromRecording(recorded, p)
	if err != nil {
		return w, err
	}
	w.Winner, err = cudasource.Of(best, p.Operator, p.Limits, r.Tool)
	if r.AsRecorded {
		if err != nil {
			w.Notices = append(w.Notices, fmt.Sprintf("%s is told of as it was recorded: %v", recorded.File, err))
		}
		w.Winner, w.Trials = cudasource.Winner{Best: best, Problem: p, Tool: r.Tool}, trials
		return w, nil
	}
	if err != nil {
		return w, fmt.Errorf("%s: %w", recorded.File, err)
	}
	return w, w.take(ctx, r, p, trials)
}

// take adds the trials whose kernels are what they were, if they are asked for.
func (w *Chosen) take(ctx context.Context, r Request, p *operator.Problem, trials []trial.Trial) (err error) {
	if !r.Trials {
		return nil
	}
	if w.Trials, err = current(ctx, p, trials); err != nil {
		return err
	}
	if slices.ContainsFunc(w.Trials, func(t trial.Trial) bool { return t.KernelDigest == "" }) {
		w.Notices = append(w.Notices, "the recording does not tell which kernels its times are of: "+
			"they may not be the operator's of today")
	}
	if gone := len(trials) - len(w.Trials); gone > 0 {
		w.Notices = append(w.Notices, fmt.Sprintf("left out %s of kernels that were edited since, or are not valid any more",
			output.Count(gone, "trial")))
	}
	return nil
}

// InCache takes a GPU's winner before the emulator's, and of those the newest that is
// of the operator as it is today.
func (r Request) InCache(ctx context.Context, s *store.Store) (w Chosen, err error) {
	kept, err := List(s, r.Operator.Name)
	if err != nil {
		return w, err
	}
	if kept, err = r.among(kept); err != nil {
		return w, err
	}
	at := 0
	if w.Winner, at, err = r.newest(kept); err != nil {
		return w, err
	}
	w.Kept, w.Notices = kept[at], r.notices(kept, at)
	if !r.Trials {
		return w, nil
	}
	trials, err := w.Kept.trials(s)
	if err != nil {
		return w, err
	}
	return w, w.take(ctx, r, w.Problem, trials)
}

// among picks the winners that are asked for, a GPU's before the emulator's and else as
// they come, newest first.
func (r Request) among(kept []Kept) ([]Kept, error) {
	var wanted []Kept
	var elsewhere, modes, timed []string
	for _, w := range kept {
		other := r
		other.Math = w.Problem.Math
		switch c := w.Protocol.Conditions; {
		case !r.names(w.Problem, w.Device):
			if other.names(w.Problem, w.Device) {
				modes = append(modes, "--math "+w.Problem.Math)
			}
		case !r.Means(w.Device):
			elsewhere = append(elsewhere, w.Device.Name)
		case c != r.Conditions:
			l2, launch := c.Words()
			timed = append(timed, fmt.Sprintf("one timed with %s (--l2 %s --launch %s)", c, l2, launch))
		default:
			wanted = append(wanted, w)
		}
	}
	slices.SortStableFunc(wanted, func(x, y Kept) int { return cmp.Compare(rank(x), rank(y)) })
	if len(wanted) > 0 {
		return wanted, nil
	}
	found := fmt.Sprintf("; run `autotune search` first (`autotune cache ls` lists what there is)%s", r.ShippedHint())
	switch {
	case len(timed) > 0:
		found = fmt.Sprintf(" timed with %s; it holds %s", r.Conditions, distinct(timed))
	case len(elsewhere) > 0:
		found = fmt.Sprintf(" on a device called %s; it holds those of %s", r.Device, distinct(elsewhere))
	case len(modes) > 0:
		found = fmt.Sprintf("; it holds one for %s", distinct(modes))
	}
	return nil, &NoneError{fmt.Sprintf("the cache holds no winner of %s%s", r, found)}
}

// ShippedHint points to the shipped recording of the problem; "": there is none.
func (r Request) ShippedHint() string {
	if _, _, err := recording.FindRequest(recording.Shipped(), r.Operator, r.Request, nil); err != nil {
		return ""
	}
	return "; a replay keeps nothing, but --from replay takes the winner of the recording that is shipped"
}

// rank puts times of a GPU before others.
func rank(w Kept) int {
	if w.Device.Kind.Properties().Caveat != "" {
		return 1
	}
	return 0
}

func distinct(words []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), ", ")
}

// newest is the first of the winners that is of the operator as it is today.
func (r Request) newest(kept []Kept) (w cudasource.Winner, at int, err error) {
	var first error
	for i, k := range kept {
		if w, err = cudasource.Of(bestconfig.FromRecord(k.Record), r.Operator, LimitsOf(k.Device), r.Tool); err == nil {
			return w, i, nil
		}
		first = cmp.Or(first, err)
	}
	return w, 0, fmt.Errorf("the winner of %s in the cache is not of this operator as it is today: %w", r, first)
}

// notices say what may surprise a user in the answer.
func (r Request) notices(kept []Kept, at int) []string {
	var all []string
	if at > 0 {
		all = append(all, fmt.Sprintf("passed over a winner of %s on %s: its kernel was edited since, or is of another operator of this name",
			kept[0].At.Format(time.DateTime), kept[0].Device.Name))
	}
	if kind := kept[at].Device.Kind.Properties(); kind.Caveat != "" && r.Device == "auto" {
		all = append(all, "the cache holds no such winner of a GPU; this is one of "+kind.Label+", whose times say nothing about a GPU")
	}
	return all
}

// Kept is a winner that the cache keeps.
type Kept struct {
	tuner.Record
	kept store.Winner
}

// OfDocument is the winner of a best-config document as a cache would keep it.
func OfDocument(w cudasource.Winner) Kept {
	b := w.Best
	protocol := device.ProtocolFor(w.Problem.Operator)
	protocol.Conditions = b.Conditions
	return Kept{Record: tuner.Record{
		Problem: b.Problem, Device: b.Device, Protocol: protocol, Evidence: b.Evidence, At: b.RecordedAt,
		Ceilings: device.Ceilings{CopyBytesPerMS: b.Roofline.CopyBandwidth / 1000},
		Winner:   &trial.Trial{Configuration: b.Configuration, KernelDigest: w.Kernel.Digest(), Outcome: trial.Outcome{Time: b.Time}},
	}}
}

// List lists the winners kept of an operator's problems on all devices, newest
// first. Not all need be of the operator as it is today, nor of the same folder:
// Record.Winner and Record.ReferenceDigest tell what was measured.
func List(s *store.Store, operator string) ([]Kept, error) {
	kept, err := s.Winners(operator, "")
	if err != nil {
		return nil, err
	}
	var winners []Kept
	for _, k := range kept {
		w := Kept{kept: k}
		if err := json.Unmarshal(k.Result, &w.Record); err != nil {
			return nil, fmt.Errorf("the cache's winner of %s: %w", k.Problem, err)
		}
		if w.Winner == nil {
			return nil, fmt.Errorf("the cache's winner of %s has no trial", k.Problem)
		}
		winners = append(winners, w)
	}
	slices.SortStableFunc(winners, func(a, b Kept) int { return b.At.Compare(a.At) })
	return winners, nil
}

// trials lists the trials that were made as the winner was: on the same device,
// with the same compiler, reference and protocol.
func (w Kept) trials(s *store.Store) (trials []trial.Trial, err error) {
	entries, err := s.Entries(w.kept.Problem)
	own := w.kept.Provenance
	for _, e := range entries {
		if own.KernelDigest = e.Provenance.KernelDigest; e.Provenance == own {
			trials = append(trials, e.Trial)
		}
	}
	return trials, err
}

// current lists the trials of a problem, remembered or recorded, whose
// kernels and launches are today what they were then. Those of other tools do not tell
// their kernels, and all count. The problem must be bound with the limits of their device.
func current(ctx context.Context, p *operator.Problem, trials []trial.Trial) ([]trial.Trial, error) {
	sp, err := p.Space(ctx)
	if err != nil {
		return nil, err
	}
	var current []trial.Trial
	for _, t := range trials {
		id, ok := sp.Index(t.Configuration)
		if !ok {
			continue
		}
		t.Configuration = sp.At(id) // with today's order and types
		k, err := p.Kernel(t.Configuration)
		if err == nil && strings.HasPrefix(k.Digest(), t.KernelDigest) {
			current = append(current, t)
		}
	}
	return current, nil
}

// Arch is the architecture that the winner and its trials were compiled for.
func (w Kept) Arch() string { return w.kept.Provenance.Arch }
