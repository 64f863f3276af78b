// Package winners finds the winner that a user asks for in a cache or recording, and its kernel in the current
// operator.
//
// A Request describes the winner to find. InCache, Shipped and Recorded each return the matching winner as a Chosen. If
// a cache contains winners, but none that matches the request, the error is a *NoneError.
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
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
	"autotune/tuner/store"
)

// Request describes the winner that a user asks for: the operator, the shape and the device.
type Request struct {
	Operator *operator.Operator
	operator.Request
	Conditions device.Conditions // conditions of its time, in a cache
	Device     string            // its kind or part of its name; "" and "auto": any, a GPU's first
	Trials     bool              // also return all trials of the problem
	// AsRecorded accepts a recording's winner without its kernel, even if the kernel was edited after the recording was
	// made.
	AsRecorded bool
	Tool       string // name and version of the program, for the files it writes
}

// Chosen is the winner that matches a request.
type Chosen struct {
	cudasource.Winner
	Kept    Kept          // the cache's winner; empty for a recording
	Trials  []trial.Trial // trials of the problem, if requested
	Notices []string      // facts about the winner that may surprise the user
}

// NoneError says that the cache has no matching winner, and which winners it has instead.
type NoneError struct{ Message string }

func (e *NoneError) Error() string { return e.Message }

// Check returns an error for a request that is wrong on every device.
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

// names reports whether a stored problem is the problem that the request describes. A request for the math mode auto
// accepts the mode that the problem's device or PyTorch chose.
func (r Request) names(p operator.ProblemRecord, d device.Info) bool {
	if operator.AutoMath(r.Math) && p.MathBy != "" {
		r.Math = p.Math
	}
	bound, err := r.Operator.Bind(r.Request, LimitsOf(d))
	return err == nil && bound.String() == p.Text
}

// Means reports whether the request accepts winners that were found on the device d. The number in a device name such
// as cuda:1 is ignored, since the cache does not store numbers of devices.
func (r Request) Means(d device.Info) bool {
	kind, _, _ := strings.Cut(r.Device, ":")
	return cmp.Or(r.Device, "auto") == "auto" || kind == string(d.Kind) ||
		strings.Contains(strings.ToLower(d.Name), strings.ToLower(r.Device))
}

// LimitsOf returns a device's limits, or typical limits if a document has none.
func LimitsOf(d device.Info) operator.Limits {
	if d.Limits.Arch == 0 {
		return operator.TypicalLimits()
	}
	return d.Limits
}

// Shipped returns the fastest variant of the shipped recording of exactly this problem. If no recording of the problem
// is shipped, the error is recording.ErrNotFound.
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

// Recorded returns the fastest variant of a recording of the problem.
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

// If the request asks for trials, take stores in the Chosen the trials whose kernels have not changed since.
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

// InCache returns the newest winner in the cache whose operator has not changed since the winner's search. A winner on
// a GPU takes precedence over one on the emulator.
func (r Request) InCache(ctx context.Context, s *store.Store) (w Chosen, err error) {
	kept, err := List(s, r.Operator.Name)
	if err == nil {
		kept, err = r.among(kept)
	}
	if err == nil {
		err = w.newest(r, kept)
	}
	if err != nil || !r.Trials {
		return w, err
	}
	trials, err := w.Kept.trials(s)
	if err != nil {
		return w, err
	}
	return w, w.take(ctx, r, w.Problem, trials)
}

// among returns the stored winners that match the request: first those on a GPU, then those on the emulator, each from
// the newest to the oldest.
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
	if len(wanted) > 0 {
		emulated := func(w Kept) bool { return w.Device.Kind.Properties().Caveat != "" }
		measured := lists.Where(wanted, func(w Kept) bool { return !emulated(w) })
		return append(measured, lists.Where(wanted, emulated)...), nil
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

// ShippedHint returns a hint at the shipped recording of the problem, or "" if there is none.
func (r Request) ShippedHint() string {
	if _, _, err := recording.FindRequest(recording.Shipped(), r.Operator, r.Request, nil); err != nil {
		return ""
	}
	return "; a replay keeps nothing, but --from replay takes the winner of the recording that is shipped"
}

func distinct(words []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), ", ")
}

// newest chooses the first winner in the list whose operator has not changed since, and notes what may surprise the
// user.
func (w *Chosen) newest(r Request, kept []Kept) (err error) {
	var first error
	for i, k := range kept {
		w.Winner, err = cudasource.Of(bestconfig.FromRecord(k.Record), r.Operator, LimitsOf(k.Device), r.Tool)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		w.Kept = k
		if i > 0 {
			w.Notices = append(w.Notices, fmt.Sprintf("passed over a winner of %s on %s: its kernel was edited since, or is of "+
				"another operator of this name", kept[0].At.Format(time.DateTime), kept[0].Device.Name))
		}
		if kind := k.Device.Kind.Properties(); kind.Caveat != "" && r.Device == "auto" {
			w.Notices = append(w.Notices, "the cache holds no such winner of a GPU; this is one of "+kind.Label+
				", whose times say nothing about a GPU")
		}
		return nil
	}
	return fmt.Errorf("the winner of %s in the cache is not of this operator as it is today: %w", r, first)
}

// Kept is a winner that was read from the cache.
type Kept struct {
	tuner.Record
	kept store.Winner
}

// OfDocument returns the winner in a best-config document in the form of a stored winner.
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

// List returns the stored winners of an operator on all devices, the newest first. Some of the winners that List
// returns may belong to an earlier version of the operator, or to another operator of the same name.
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

// trials returns the stored trials whose problem, device, compiler, reference and protocol are those of the winner.
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

// current returns the trials whose kernels and launches have not changed since; the problem must be bound with the
// limits of the trials' device. All trials that other tools recorded are returned, because these trials have no
// digests.
func current(ctx context.Context, p *operator.Problem, trials []trial.Trial) (current []trial.Trial, err error) {
	sp, err := p.Space(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		id, ok := sp.Index(t.Configuration)
		if !ok {
			continue
		}
		t.Configuration = sp.At(id) // configuration in the order and with the types of op.yaml today
		k, err := p.Kernel(t.Configuration)
		if err == nil && strings.HasPrefix(k.Digest(), t.KernelDigest) {
			current = append(current, t)
		}
	}
	return current, nil
}

// Arch returns the GPU architecture for which the winner and its trials were compiled.
func (w Kept) Arch() string { return w.kept.Provenance.Arch }
