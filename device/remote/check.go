package remote

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/operator"
)

// The following constants limit the values that a message may contain.
const (
	mostLaunches  = 1 << 20
	mostSamples   = 1 << 14
	mostTunables  = 256
	mostMinutes   = 10 * time.Minute
	mostDims      = 64
	mostCompilers = 4096
)

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	keyForm    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}\.[0-9]{1,9}$`) // of problems and requests
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)                    // of kernels
)

// GoodName reports whether a worker may have this name, which becomes a part of NATS subjects.
func GoodName(name string) bool { return nameForm.MatchString(name) }

// Name turns a text into a valid name of a worker.
func Name(text string) string {
	name := strings.Map(func(r rune) rune {
		if nameForm.MatchString(string(r)) {
			return r
		}
		return '-'
	}, text)
	return name[:min(len(name), 64)]
}

// refused returns an error about a message's field unless the field's rule holds.
func refused(holds bool, field string, value any) error {
	if holds {
		return nil
	}
	return fmt.Errorf("a message whose %s is %.60q", field, fmt.Sprint(value))
}

func within[N int | time.Duration](field string, most N, all ...N) error {
	return refused(slices.Min(all) >= 0 && slices.Max(all) <= most, field, all)
}

func finite(field string, values ...float64) error {
	bad := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) || x < 0 }
	return refused(!slices.ContainsFunc(values, bad), field, values)
}

func drawn(distribution string) error {
	all := slices.Concat(operator.Distributions(), operator.Extremes())
	if slices.Contains(all, distribution) {
		return nil
	}
	return fmt.Errorf("a message whose distribution is %.60q; want one of %v", distribution, all)
}

// needs says which kinds of requests must name a problem and which must name a kernel.
var needs = map[Kind]struct{ problem, kernel bool }{
	Describe: {}, Open: {problem: true}, Refill: {problem: true}, Close: {problem: true},
	Compile: {true, true}, Evaluate: {true, true}, Check: {true, true}, Launch: {true, true},
}

func (r *Request) check() error {
	need, known := needs[r.Kind]
	if known && !need.problem {
		return nil
	}
	err := cmp.Or(
		refused(known, "kind", r.Kind),
		refused(keyForm.MatchString(r.ID), "id", r.ID),
		refused(keyForm.MatchString(r.Problem), "problem", r.Problem),
		refused(need.kernel == digestForm.MatchString(r.Digest) && (need.kernel || r.Digest == ""), "digest", r.Digest),
		within("tunables", mostTunables, len(r.Values)),
		finite("best", r.Best),
		within("launches", mostLaunches, r.Check.Launches),
		drawn(r.Inputs.Distribution),
		within("duration", mostMinutes, r.Limit, r.Check.Limit),
	)
	if err == nil && r.Opening != nil {
		err = r.Opening.check()
	}
	return err
}

func (o *Opening) check() error {
	p := o.Protocol
	ends := p.Samples > 0 && p.Samples <= mostSamples && p.MinSamples >= 0 && p.WarmUp >= 0 && p.WarmUp <= mostLaunches
	return cmp.Or(
		within("bundle", operator.BundleBytes, len(o.Bundle)),
		refused(len(o.Shape) <= mostDims && slices.Min(append([]int64{1}, o.Shape...)) > 0, "shape", o.Shape),
		within("parameters", mostDims, len(o.Parameters)),
		refused(ends, "protocol", p),
		drawn(p.Distribution),
		within("duration", mostMinutes, p.BatchBelow, p.MeasureTime, p.LaunchTimeout, p.CompileTimeout),
		p.Conditions.Check(),
	)
}

func (a *Response) check() error {
	o, needed := &a.Outcome, needs[a.Kind]
	if f := a.Fault; f != nil {
		return cmp.Or(refused(slices.Contains(faultKinds, f.Kind), "fault", f.Kind), refused(GoodName(a.Worker), "worker", a.Worker))
	}
	evaluated := needed.kernel && a.Kind != Compile
	known := slices.Contains(trial.Statuses, o.Status)
	err := cmp.Or(
		refused(GoodName(a.Worker), "worker", a.Worker),
		refused(a.Kind == Describe || needed.problem, "kind", a.Kind),
		refused(evaluated == known && (evaluated || o.Status == ""), "status", o.Status),
		refused((a.Kind == Compile) == (a.Compiled != nil), "compiled", a.Compiled),
		within("number of samples", mostSamples, len(o.SamplesMS)),
		refused(a.Kind != Evaluate || o.Status != trial.OK || len(o.SamplesMS) > 0, "samples", o.SamplesMS),
		trial.CheckMS(o.SamplesMS...),
		finite("times", o.Time.Median, o.Time.CI95[0], o.Time.CI95[1]),
		finite("phases", o.Phases.CompileMS, o.Phases.VerifyMS, o.Phases.MeasureMS),
		finite("ceilings", a.Ceilings.ReferenceMS, a.Ceilings.CopyBytesPerMS),
		within("launches", mostLaunches, a.Launches),
	)
	if err != nil {
		return err
	}
	// The samples in a message are trusted; their summary is computed anew, whatever the message contains.
	if batch := o.Time.Batch; o.Status == trial.OK && len(o.SamplesMS) > 0 {
		o.SetSamples(o.SamplesMS, batch)
	}
	a.Notice = output.Line(a.Notice)
	return nil
}

func (w *Worker) check() error {
	w.Arch = output.Line(w.Arch)
	return cmp.Or(
		refused(GoodName(w.Worker), "worker", w.Worker),
		refused(w.Device.Name != "", "device", w.Device.Name),
		within("compilers", mostCompilers, w.Compilers-1), // one at least
		refused(min(w.Done, w.UnderWay) >= 0, "jobs", w.Done),
	)
}
