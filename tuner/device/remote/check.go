package remote

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"autotune/internal/output"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// Bounds on what a message may ask for or tell.
const (
	mostLaunches = 1 << 20
	mostSamples  = 1 << 14
	mostTunables = 256
	mostMinutes  = 10 * time.Minute
	mostDims     = 64
	mostData     = 64 // data files of an operator
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

// refusal is what is wrong with a field.
func refusal(field string, value any, want string) error {
	text := fmt.Sprint(value)
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return fmt.Errorf("a message whose %s is %q; want %s", field, text, want)
}

func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) || x < 0 })
}

// needs says what the kinds of requests must have beside themselves.
var needs = map[Kind]struct{ problem, kernel bool }{
	Describe: {}, Open: {problem: true}, Refill: {problem: true}, Close: {problem: true},
	Compile: {true, true}, Evaluate: {true, true}, Check: {true, true}, Launch: {true, true},
}

func (r *Request) check() error {
	need, known := needs[r.Kind]
	switch {
	case !known:
		return refusal("kind", r.Kind, "one of the kinds of requests")
	case !need.problem:
		return nil
	case !nameForm.MatchString(r.Search):
		return refusal("search", r.Search, "letters and digits")
	case !keyForm.MatchString(r.Problem) || !strings.HasPrefix(r.Problem, r.Search+"."):
		return refusal("problem", r.Problem, "the search's name and a number")
	case need.kernel != digestForm.MatchString(r.Digest) || !need.kernel && r.Digest != "":
		return refusal("digest", r.Digest, "the digest of a kernel where one is meant")
	case r.From != "" && !nameForm.MatchString(r.From):
		return refusal("from", r.From, "a worker's name")
	case len(r.Values) > mostTunables:
		return refusal("configuration", r.Configuration, "fewer tunables")
	case !finite(r.Best):
		return refusal("best", r.Best, "milliseconds")
	case r.Check.Launches < 0 || r.Check.Launches > mostLaunches:
		return refusal("launches", r.Check.Launches, "a number of launches")
	case !slices.Contains(operator.Distributions(), r.Inputs.Distribution):
		return refusal("distribution", r.Inputs.Distribution, "one of "+strings.Join(operator.Distributions(), " "))
	}
	return durations(r.Limit, r.Check.Limit)
}

func durations(all ...time.Duration) error {
	for _, d := range all {
		if d < 0 || d > mostMinutes {
			return refusal("duration", d, "at most "+mostMinutes.String())
		}
	}
	return nil
}

func (a *Response) check() error {
	o, needed := &a.Outcome, needs[a.Kind]
	evaluated := needed.kernel && a.Kind != Compile
	switch {
	case a.Fault != nil && !slices.Contains(faultKinds, a.Fault.Kind):
		return refusal("fault", a.Fault.Kind, "one of the kinds of faults")
	case !nameForm.MatchString(a.Worker):
		return refusal("worker", a.Worker, "letters and digits")
	case a.Fault != nil:
		return nil
	case a.Kind != Describe && !needed.problem:
		return refusal("kind", a.Kind, "one of the kinds of requests")
	case evaluated != slices.Contains(trial.Statuses, o.Status) || !evaluated && o.Status != "":
		return refusal("status", o.Status, "one of the statuses where something was evaluated")
	case (a.Kind == Compile) != (a.Compiled != nil):
		return refusal("compiled", a.Compiled, "a description of what was compiled")
	case len(o.SamplesMS) > mostSamples:
		return refusal("samples", len(o.SamplesMS), "fewer of them")
	case trial.CheckMS(o.SamplesMS...) != nil:
		return refusal("samples", o.SamplesMS, "times of launches")
	case !finite(a.ControlMS, o.Time.Median, o.Time.CI95[0], o.Time.CI95[1], o.Phases.CompileMS, o.Phases.VerifyMS, o.Phases.MeasureMS,
		a.Ceilings.ReferenceMS, a.Ceilings.CopyBytesPerMS):
		return refusal("times", o.Time, "numbers that are not negative")
	case a.Launches < 0 || a.Launches > mostLaunches:
		return refusal("launches", a.Launches, "a number of launches")
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
	switch {
	case !objectForm.MatchString(p.Bundle):
		return refusal("bundle", p.Bundle, "an object's name")
	case len(p.Shape) > mostDims || slices.ContainsFunc(p.Shape, func(d int64) bool { return d < 1 }):
		return refusal("shape", p.Shape, "dimensions above 0")
	case len(p.Settings) > mostDims:
		return refusal("parameters", len(p.Settings), "fewer of them")
	case p.Protocol.Samples < 1 || p.Protocol.Samples > mostSamples || p.Protocol.MinSamples < 0 || p.Protocol.WarmUp < 0 || p.Protocol.WarmUp > mostLaunches:
		return refusal("protocol", p.Protocol, "a protocol that ends")
	case !slices.Contains(operator.Distributions(), p.Protocol.Distribution):
		return refusal("distribution", p.Protocol.Distribution, "one of "+strings.Join(operator.Distributions(), " "))
	}
	if err := p.Protocol.Conditions.Check(); err != nil {
		return err
	}
	if err := p.checkData(); err != nil {
		return err
	}
	return durations(p.Protocol.BatchBelow, p.Protocol.MeasureTime, p.Protocol.LaunchTimeout, p.Protocol.CompileTimeout)
}

func (p *Problem) checkData() error {
	if len(p.Data) > mostData {
		return refusal("data", len(p.Data), "fewer files")
	}
	total := int64(0)
	for name, d := range p.Data {
		switch {
		case !dataForm.MatchString(name):
			return refusal("data", name, "the name of a .npy file")
		case !objectForm.MatchString(d.Object):
			return refusal("data", d.Object, "an object's name")
		case d.Bytes < 0 || d.Bytes > DataBytes:
			return refusal("data", d.Bytes, fmt.Sprintf("at most %d bytes", DataBytes))
		}
		total += d.Bytes
	}
	if total > DataBytes {
		return refusal("data", total, fmt.Sprintf("at most %d bytes together", DataBytes))
	}
	return nil
}

func (f *Fetch) check() error {
	switch {
	case !objectForm.MatchString(f.Object) && !keyForm.MatchString(f.Object):
		return refusal("object", f.Object, "an object's name")
	case f.Offset < 0 || f.Offset > DataBytes || f.Offset%ChunkBytes != 0:
		return refusal("offset", f.Offset, fmt.Sprintf("a multiple of %d", ChunkBytes))
	}
	return nil
}

func (b *Beat) check() error {
	switch {
	case !nameForm.MatchString(b.Worker):
		return refusal("worker", b.Worker, "letters and digits")
	case !nameForm.MatchString(b.Group):
		return refusal("group", b.Group, "letters and digits")
	case !slices.Contains([]State{Ready, Aside, Left}, b.State):
		return refusal("state", b.State, "one of the states of workers")
	case b.Compilers < 0 || b.Compilers > 4096:
		return refusal("compilers", b.Compilers, "a number of processes")
	case min(b.Done, b.Waiting, b.Running) < 0:
		return refusal("jobs", min(b.Done, b.Waiting, b.Running), "a number of jobs")
	case !finite(b.Rate, b.Control.FirstMS, b.Control.LastMS):
		return refusal("control", b.Control, "milliseconds")
	}
	b.Why, b.Arch = output.Line(b.Why), output.Line(b.Arch)
	return nil
}
