// Package prove verifies and times a pack's entries and families again on the machine where they will run. Package
// prove also chooses the winners and families that a pack is made of.
package prove

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/final"
	"autotune/tuner/winners"
)

type Options struct {
	Opener    *devices.Opener
	Operators []*operator.Operator // operators that are not built in
	// CI selects the check for continuous integration: it times each winner against itself to measure the noise, and
	// fails if the winner is slower than its recorded time by more than the noise.
	CI   bool
	Tool string
	// Say prints what is being done, and Tell prints notices about what the user may not expect.
	Say, Tell func(text string)
	// Trouble marks an error as caused by the device.
	Trouble func(error) error
	// Search runs a search and shows its progress.
	Search func(ctx context.Context, on *devices.Opened, o tuner.Options) (*tuner.Result, error)
}

// Verdict says whether an earlier winner is still the fastest, with its time then and now.
type Verdict struct {
	Problem    string               `json:"problem"`
	Device     string               `json:"device"`
	Conditions device.Conditions    `json:"conditions,omitzero"`
	Verdict    string               `json:"verdict"` // holds, ties, lost, slower, or a status
	Message    string               `json:"message,omitempty"`
	WasMS      float64              `json:"was_ms"`
	NowMS      float64              `json:"now_ms,omitempty"` // the earlier winner's time now
	Noise      float64              `json:"noise,omitempty"`  // relative noise of a repeated measurement; with CI
	Winner     *bestconfig.Document `json:"winner,omitempty"` // the fastest variant now
}

// edited is the message for a winner that cannot be verified any more, because its kernel was edited.
const edited = "its kernel was edited, or is no longer in the space"

// Lost reports whether the winner failed, was slower than recorded, or was beaten by another variant.
func (v Verdict) Lost() bool { return v.Verdict != "holds" && v.Verdict != "ties" }

// failed reports whether the winner did not run, or computed a wrong result.
func (v Verdict) failed() bool { return slices.Contains(trial.Statuses, trial.Status(v.Verdict)) }

func (v Verdict) change() string { return fmt.Sprintf("%+.1f %%", 100*(v.NowMS/v.WasMS-1)) }

func verdictOn(w winners.Kept) Verdict {
	return Verdict{Problem: w.Problem.Text, Device: w.Device.Name, Conditions: w.Protocol.Conditions,
		WasMS: w.Winner.Time.Median}
}

// beside verifies and times a winner again, together with its runners-up, the default, and configurations that the
// options name. The fastest of the variants that beside times must pass the correctness gates.
func (o Options) beside(ctx context.Context, on *devices.Opened, w winners.Kept, s tuner.Options) (Verdict, error) {
	v := verdictOn(w)
	s.Recheck, s.Conditions = true, w.Protocol.Conditions
	result, err := o.Search(ctx, on, s)
	switch {
	case result == nil || err != nil && !errors.Is(err, tuner.ErrNoVariant):
		return v, err
	case result.Stop == tuner.Interrupted:
		return v, context.Canceled
	}
	v.judge(w, result)
	return v, nil
}

func (v *Verdict) judge(w winners.Kept, result *tuner.Result) {
	if result.Winner != nil {
		best := bestconfig.FromRecord(result.Record)
		v.Winner = &best
	}
	key := w.Winner.Key()
	old, found := lists.First(result.Trials, func(t trial.Trial) bool { return t.Key() == key })
	if !found || old.KernelDigest != w.Winner.KernelDigest {
		v.Verdict, v.Message = "lost", edited
		return
	}
	v.NowMS = old.Time.Median
	switch {
	case old.Status != trial.OK:
		v.Verdict, v.Message = string(old.Status), old.Reason()
	case result.Winner.Key() == key:
		v.Verdict = "holds"
	case old.Time.Reaches(result.Winner.Time):
		v.Verdict, v.Message = "ties", "with "+result.Winner.Configuration.String()
	default:
		v.Verdict, v.Message = "lost", "to "+result.Winner.Configuration.String()
	}
}

// alone verifies a winner, times it against itself and runs the correctness gates. If the device measures times, the
// function alone compares the winner's time with the recorded time.
func (v *Verdict) alone(ctx context.Context, o Options, on *devices.Opened, w winners.Kept) error {
	p := on.Problem
	kernel, err := p.Kernel(w.Winner.Configuration)
	if err != nil || !p.Admits(w.Winner.Configuration) || kernel.Digest() != w.Winner.KernelDigest {
		v.Verdict, v.Message = "lost", edited
		return nil
	}
	o.Say("proving " + p.String())
	protocol := device.ProtocolFor(p.Operator)
	protocol.Conditions = w.Protocol.Conditions
	subject := final.Subject{Problem: p, Device: on.Device, Protocol: protocol, Launches: final.Launches}
	proof, err := final.Prove(ctx, subject, w.Winner.Configuration, w.Winner.FinalRounds)
	if err != nil {
		return o.Trouble(err)
	}
	v.compare(proof, w, on.Device.Info())
	return nil
}

func (v *Verdict) compare(p final.Proof, w winners.Kept, here device.Info) {
	v.NowMS, v.Noise = p.NowMS, p.Noise
	switch {
	case p.Status != trial.OK:
		v.Verdict, v.Message, v.NowMS, v.Noise = string(p.Status), p.Reason(), 0, 0
	case v.WasMS > 0 && v.NowMS > v.WasMS*(1+v.Noise):
		text := fmt.Sprintf("%.2g %% slower, the noise here is %.2g %%", 100*(v.NowMS/v.WasMS-1), 100*v.Noise)
		v.Verdict, v.Message = "slower", strings.Join(append([]string{text}, moved(p, w, here)...), "; ")
	default:
		v.Verdict, v.Message = "holds", ""
	}
}

// copyMoved is the relative change of the GPU's copy bandwidth below which the check does not report the change.
const copyMoved = 0.01

// moved describes what else changed since the winner was found, such as the driver or the copy bandwidth.
func moved(p final.Proof, w winners.Kept, here device.Info) (all []string) {
	if then, now := w.Ceilings.CopyBytesPerMS, p.Ceilings.CopyBytesPerMS; then > 0 && now > 0 &&
		math.Abs(now/then-1) > copyMoved {
		all = append(all, fmt.Sprintf("a copy now has %.3g %% of the bandwidth that it had", 100*now/then))
	}
	for _, version := range []struct{ what, then, now string }{
		{"driver", w.Device.Driver, here.Driver}, {"compiler", w.Device.Compiler, here.Compiler},
	} {
		if version.then != version.now && version.then != "" && version.now != "" {
			all = append(all, fmt.Sprintf("the %s was %s and is %s", version.what, version.then, version.now))
		}
	}
	return append(all, lists.Of(p.Warnings, trial.Warning.String)...)
}

type BenchOptions struct {
	Others   bool         // time PyTorch, too
	Rivals   final.Rivals // PyTorch; nil on a device without a GPU
	NoRivals error        // why PyTorch cannot be timed
	// Await displays a text, such as the name of a step that takes long. Of the functions that Await returns, now
	// changes the displayed text, and done removes it.
	Await func(what string) (now func(string), done func())
}

// Bench times a winner in turns with its untuned default, and then with PyTorch.
func Bench(ctx context.Context, s final.Subject, best bestconfig.Document, o BenchOptions) (r tuner.Record, err error) {
	now, done := o.Await("timing the winner beside the default")
	defer done()
	var untuned []space.Configuration
	if defaults := s.Problem.Defaults(ctx); len(defaults) > 0 && defaults[0].Key() != best.Key() {
		untuned = defaults[:1]
	}
	found, err := final.Around(ctx, s, best.Configuration, untuned, time.Minute, func(int, int) {})
	if err != nil {
		return r, err
	}
	info := s.Device.Info()
	r = tuner.Record{
		Problem: s.Problem.Record(), Device: info, Protocol: s.Protocol, Winner: &found.Centre, Ceilings: found.Ceilings,
		At:              time.Now().UTC(),
		ReferenceDigest: best.ReferenceDigest,
		Warnings:        trial.Lines(found.Centre.Warnings),
	}
	if info.Kind.Properties().Caveat == "" {
		r.Warnings = append(r.Warnings, trial.Lines(found.Centre.Time.Warnings())...)
	}
	for _, t := range found.Others {
		if t.Status != trial.OK {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the default ended as %s: %s", t.Status, t.Reason()))
			continue
		}
		r.Baselines = append(r.Baselines, tuner.Baseline{Name: "default", TimeMS: t.Time.Median, Speedup: t.Ratio,
			CI95: t.CI95})
	}
	if ms := found.Ceilings.ReferenceMS; ms > 0 {
		r.Baselines = append(r.Baselines, tuner.Baseline{Name: "reference", TimeMS: ms})
	}
	if !o.Others {
		return r, ctx.Err()
	}
	now("timing PyTorch beside the winner")
	var beside []tuner.Baseline
	var notes []string
	if err = o.NoRivals; err == nil {
		beside, notes, err = final.Beside(ctx, s, best.Configuration, o.Rivals)
	}
	r.Baselines, r.Warnings = append(r.Baselines, beside...), append(r.Warnings, notes...)
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("others were not timed beside the winner: %v", err))
	}
	return r, ctx.Err()
}
