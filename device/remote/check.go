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
	mostData      = 64 // data files of an operator
	mostCompilers = 4096
)

var (
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	keyForm  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}\.[0-9]{1,9}$`)
	// digestForm is of kernels.
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	objectForm = regexp.MustCompile(`^[a-z]{1,16}-[0-9a-f]{64}$`)
	dataForm   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,250}\.npy$`)
)

// GoodName tells whether a worker may be called so: it is a word of subjects and keys.
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

func word(field, name string) rule {
	return rule{nameForm.MatchString(name), field, name, "letters, digits, - and _"}
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

// needs says what the kinds of requests must have beside themselves.
var needs = map[Kind]struct{ problem, kernel bool }{
	Describe: {}, Open: {problem: true}, Refill: {problem: true}, Close: {problem: true},
	Compile: {true, true}, Evaluate: {true, true}, Check: {true, true}, Launch: {true, true},
}

func (r *Request) check() error {
	need, known := needs[r.Kind]
	if known && !need.problem {
		return nil
	}
	return firstBroken(
		rule{known, "kind", r.Kind, "one of the kinds of requests"},
		word("search", r.Search),
		rule{keyForm.MatchString(r.Problem) && strings.HasPrefix(r.Problem, r.Search+"."), "problem", r.Problem, "the search's name and a number"},
		rule{need.kernel == digestForm.MatchString(r.Digest) && (need.kernel || r.Digest == ""), "digest", r.Digest, "the digest of a kernel where one is meant"},
		rule{r.From == "" || nameForm.MatchString(r.From), "from", r.From, "a worker's name"},
		within("tunables", len(r.Values), mostTunables),
		finite("best", r.Best),
		within("launches", r.Check.Launches, mostLaunches),
		oneOf("distribution", r.Inputs.Distribution, slices.Concat(operator.Distributions(), operator.Extremes())),
		within("duration", r.Limit, mostMinutes),
		within("duration", r.Check.Limit, mostMinutes),
	)
}

func (a *Response) check() error {
	o, needed := &a.Outcome, needs[a.Kind]
	if a.Fault != nil {
		return firstBroken(oneOf("fault", a.Fault.Kind, faultKinds), word("worker", a.Worker))
	}
	evaluated := needed.kernel && a.Kind != Compile
	err := firstBroken(
		word("worker", a.Worker),
		rule{a.Kind == Describe || needed.problem, "kind", a.Kind, "one of the kinds of requests"},
		rule{evaluated == slices.Contains(trial.Statuses, o.Status) && (evaluated || o.Status == ""), "status", o.Status, "one of the statuses where something was evaluated"},
		rule{(a.Kind == Compile) == (a.Compiled != nil), "compiled", a.Compiled, "a description of what was compiled"},
		within("samples", len(o.SamplesMS), mostSamples),
		rule{a.Kind != Evaluate || o.Status != trial.OK || len(o.SamplesMS) > 0, "samples", o.SamplesMS, "at least one where the status is ok"},
		rule{trial.CheckMS(o.SamplesMS...) == nil, "samples", o.SamplesMS, "times of launches"},
		finite("times", a.ControlMS, o.Time.Median, o.Time.CI95[0], o.Time.CI95[1], o.Phases.CompileMS, o.Phases.VerifyMS, o.Phases.MeasureMS,
			a.Ceilings.ReferenceMS, a.Ceilings.CopyBytesPerMS),
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

var faultKinds = []FaultKind{Refused, BadReference, NoMemory, NoDevice, NotOpen, Ended, Trouble}

func (p *Problem) check() error {
	proto := p.Protocol
	rules := []rule{
		{objectForm.MatchString(p.Bundle), "bundle", p.Bundle, "an object's name"},
		{len(p.Shape) <= mostDims && !slices.ContainsFunc(p.Shape, func(d int64) bool { return d < 1 }), "shape", p.Shape, "dimensions above 0"},
		within("parameters", len(p.Parameters), mostDims),
		{proto.Samples > 0 && proto.Samples <= mostSamples && proto.MinSamples >= 0 && proto.WarmUp >= 0 && proto.WarmUp <= mostLaunches, "protocol", proto, "a protocol that ends"},
		oneOf("distribution", proto.Distribution, operator.Distributions()),
		within("data", len(p.Data), mostData),
	}
	for _, d := range []time.Duration{proto.BatchBelow, proto.MeasureTime, proto.LaunchTimeout, proto.CompileTimeout} {
		rules = append(rules, within("duration", d, mostMinutes))
	}
	total := int64(0)
	for name, d := range p.Data {
		total += d.Bytes
		rules = append(rules, rule{dataForm.MatchString(name), "data", name, "the name of a .npy file"},
			rule{objectForm.MatchString(d.Object), "data", d.Object, "an object's name"}, within("data", d.Bytes, DataBytes), within("data", total, DataBytes))
	}
	if err := firstBroken(rules...); err != nil {
		return err
	}
	return proto.Conditions.Check()
}

func (f *Fetch) check() error {
	return firstBroken(
		rule{objectForm.MatchString(f.Object) || keyForm.MatchString(f.Object), "object", f.Object, "an object's name"},
		within("offset", f.Offset, DataBytes),
	)
}

func (b *Beat) check() error {
	b.Why, b.Arch = output.Line(b.Why), output.Line(b.Arch)
	return firstBroken(
		word("worker", b.Worker), word("group", b.Group),
		rule{b.Device.Name != "", "device", b.Device.Name, "a device's name"},
		oneOf("state", b.State, []State{Ready, Aside, Left}),
		within("compilers", b.Compilers, mostCompilers),
		rule{min(b.Done, b.Waiting, b.Running) >= 0, "jobs", b.Done, "a number of jobs"},
		finite("control", b.Control.FirstMS, b.Control.LastMS),
	)
}
