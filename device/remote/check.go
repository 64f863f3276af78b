package remote

import (
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

// Bounds on what a message may ask for or tell.
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

// GoodName tells whether a worker may be called so: its name is a part of subjects.
func GoodName(name string) bool { return nameForm.MatchString(name) }

// Name makes a text one that a worker may be called.
func Name(text string) string {
	name := strings.Map(func(r rune) rune {
		if nameForm.MatchString(string(r)) {
			return r
		}
		return '-'
	}, text)
	return name[:min(len(name), 64)]
}

type rule struct {
	holds bool
	field string
	value any
	want  string
}

// firstBroken is about the first rule that does not hold; nil: all do.
func firstBroken(rules ...rule) error {
	for _, r := range rules {
		if !r.holds {
			return fmt.Errorf("a message whose %s is %.60q; want %s", r.field, fmt.Sprint(r.value), r.want)
		}
	}
	return nil
}

func isName(field, name string) rule {
	return rule{GoodName(name), field, name, "letters, digits, - and _"}
}

func isKey(field, key string) rule {
	return rule{keyForm.MatchString(key), field, key, "a name, a point and a number"}
}

func within[N int | int64 | time.Duration](field string, n, most N) rule {
	return rule{0 <= n && n <= most, field, n, fmt.Sprintf("from 0 to %v", most)}
}

func oneOf[S ~string](field string, value S, all []S) rule {
	return rule{slices.Contains(all, value), field, value, fmt.Sprintf("one of %v", all)}
}

func finite(field string, values ...float64) rule {
	bad := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) || x < 0 }
	return rule{!slices.ContainsFunc(values, bad), field, values, "numbers that are not negative"}
}

// needs says what requests of each kind must have.
var needs = map[Kind]struct{ problem, kernel bool }{
	Describe: {}, Open: {problem: true}, Refill: {problem: true}, Close: {problem: true},
	Compile: {true, true}, Evaluate: {true, true}, Check: {true, true}, Launch: {true, true},
}

func (r *Request) check() error {
	need, known := needs[r.Kind]
	if known && !need.problem {
		return nil
	}
	distributions := slices.Concat(operator.Distributions(), operator.Extremes())
	err := firstBroken(
		rule{known, "kind", r.Kind, "one of the kinds of requests"},
		isKey("id", r.ID), isKey("problem", r.Problem),
		rule{need.kernel == digestForm.MatchString(r.Digest) && (need.kernel || r.Digest == ""), "digest", r.Digest,
			"the digest of a kernel where one is meant"},
		within("tunables", len(r.Values), mostTunables),
		finite("best", r.Best),
		within("launches", r.Check.Launches, mostLaunches),
		oneOf("distribution", r.Inputs.Distribution, distributions),
		within("duration", r.Limit, mostMinutes),
		within("duration", r.Check.Limit, mostMinutes),
	)
	if err == nil && r.Opening != nil {
		err = r.Opening.check()
	}
	return err
}

func (o *Opening) check() error {
	p := o.Protocol
	err := firstBroken(
		within("bundle", len(o.Bundle), operator.BundleBytes),
		rule{len(o.Shape) <= mostDims && !slices.ContainsFunc(o.Shape, func(d int64) bool { return d < 1 }), "shape", o.Shape,
			"dimensions above 0"},
		within("parameters", len(o.Parameters), mostDims),
		rule{p.Samples > 0 && p.Samples <= mostSamples && p.MinSamples >= 0 && p.WarmUp >= 0 && p.WarmUp <= mostLaunches,
			"protocol", p, "a protocol that ends"},
		oneOf("distribution", p.Distribution, operator.Distributions()),
		within("duration", max(p.BatchBelow, p.MeasureTime, p.LaunchTimeout, p.CompileTimeout), mostMinutes),
		within("duration", min(p.BatchBelow, p.MeasureTime, p.LaunchTimeout, p.CompileTimeout), mostMinutes),
	)
	if err != nil {
		return err
	}
	return p.Conditions.Check()
}

func (a *Response) check() error {
	o, needed := &a.Outcome, needs[a.Kind]
	if a.Fault != nil {
		return firstBroken(oneOf("fault", a.Fault.Kind, faultKinds), isName("worker", a.Worker))
	}
	evaluated := needed.kernel && a.Kind != Compile
	err := firstBroken(
		isName("worker", a.Worker),
		rule{a.Kind == Describe || needed.problem, "kind", a.Kind, "one of the kinds of requests"},
		rule{evaluated == slices.Contains(trial.Statuses, o.Status) && (evaluated || o.Status == ""), "status", o.Status,
			"one of the statuses where something was evaluated"},
		rule{(a.Kind == Compile) == (a.Compiled != nil), "compiled", a.Compiled, "a description of what was compiled"},
		within("samples", len(o.SamplesMS), mostSamples),
		rule{a.Kind != Evaluate || o.Status != trial.OK || len(o.SamplesMS) > 0, "samples", o.SamplesMS,
			"at least one where the status is ok"},
		rule{trial.CheckMS(o.SamplesMS...) == nil, "samples", o.SamplesMS, "times of launches"},
		finite("times", o.Time.Median, o.Time.CI95[0], o.Time.CI95[1], o.Phases.CompileMS, o.Phases.VerifyMS,
			o.Phases.MeasureMS, a.Ceilings.ReferenceMS, a.Ceilings.CopyBytesPerMS),
		within("launches", a.Launches, mostLaunches),
	)
	if err != nil {
		return err
	}
	// The samples are believed. What the other side made of them is computed anew.
	if batch := o.Time.Batch; o.Status == trial.OK && len(o.SamplesMS) > 0 {
		o.SetSamples(o.SamplesMS, batch)
	}
	a.Notice = output.Line(a.Notice)
	return nil
}

func (w *Worker) check() error {
	w.Arch = output.Line(w.Arch)
	return firstBroken(
		isName("worker", w.Worker),
		rule{w.Device.Name != "", "device", w.Device.Name, "a device's name"},
		rule{0 < w.Compilers && w.Compilers <= mostCompilers, "compilers", w.Compilers, fmt.Sprintf("from 1 to %d", mostCompilers)},
		rule{min(w.Done, w.UnderWay) >= 0, "jobs", w.Done, "a number of jobs"},
	)
}
