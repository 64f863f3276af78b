package capture

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/internal/output"
	"autotune/operator"
)

// Seen summarizes what a program did with PyTorch.
type Seen struct {
	Processes int
	Torch     string // PyTorch's version
	GPU       string // name of the first GPU used, "" if all ran on the CPU
	MS        float64
	Problems  []Problem  // problems that operators serve, largest share first
	Unserved  []Unserved // other calls, largest share first
	Notes     []string   // what could not be watched
}

// Problem is a problem of an operator that the watched program computed with PyTorch.
type Problem struct {
	*operator.Problem
	Named bool // the program's settings determine the math mode, so the problem names it
	Usage
}

// Unserved is a PyTorch call that no operator serves, with the reason.
type Unserved struct {
	Function, Arguments, Why string
	Usage
}

// String returns the problem's name, as in "matmul 64x64x64". The problem's text contains a math mode only if PyTorch's
// settings in the program determine the mode.
func (p Problem) String() string {
	text := p.Problem.String()
	if !p.Named {
		text = strings.TrimSuffix(text, " math="+p.Math)
	}
	return text
}

// Usage says how often a call was made, how long it took in all, and its share of the measured time.
type Usage struct {
	Calls int64
	MS    float64 // the time of all calls
	Share float64 // fraction of all time seen on the device
}

// Read combines the records of a program's processes.
func (w *Watcher) Read() (*Seen, error) {
	records, left, fault, err := w.records()
	if err != nil {
		return nil, err
	}
	s := merged(records, fault, w.operators)
	if left > 0 {
		s.Notes = append(s.Notes, output.Count(left, "process")+" more had PyTorch than can be counted: their calls are left out")
	}
	return s, nil
}

func merged(records []*record, fault string, operators map[string]*operator.Operator) *Seen {
	s := &Seen{Processes: len(records)}
	device := "cpu"
	for _, r := range records {
		s.Torch, s.GPU = cmp.Or(s.Torch, r.Torch), cmp.Or(s.GPU, r.GPU)
		if slices.ContainsFunc(r.Calls, func(c call) bool { return c.Device == "cuda" }) {
			device = "cuda"
		}
	}
	var elsewhere int64
	problems, unserved := map[string]*Problem{}, map[string]*Unserved{}
	for _, r := range records {
		for _, c := range r.Calls {
			if c.Device != device {
				elsewhere += c.Calls
				continue
			}
			s.MS += c.MS
			p, err := problem(c, operators)
			if err != nil {
				c.Why = brief(err.Error())
			}
			if p != nil {
				into(problems, fmt.Sprint(p.Problem, p.Math, p.Named), p).Usage.add(c)
				continue
			}
			u := &Unserved{Function: c.Function, Arguments: c.Arguments, Why: cmp.Or(c.Why, why(c.Function))}
			into(unserved, strings.Join([]string{u.Function, u.Arguments, u.Why}, "\x00"), u).Usage.add(c)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(problems)) {
		s.Problems = append(s.Problems, *problems[key])
	}
	for _, key := range slices.Sorted(maps.Keys(unserved)) {
		s.Unserved = append(s.Unserved, *unserved[key])
	}
	s.sort()
	s.Notes = notes(records, fault, elsewhere, device)
	return s
}

// into returns the value of a map at a key, after storing the given value if the key was new.
func into[V any](m map[string]*V, key string, value *V) *V {
	if _, known := m[key]; !known {
		m[key] = value
	}
	return m[key]
}

func (u *Usage) add(c call) { u.Calls, u.MS = u.Calls+c.Calls, u.MS+c.MS }

// why returns the reason for which no operator serves a call.
func why(function string) string {
	if function == "backward" || function == "grad" {
		return "gradients are PyTorch's own"
	}
	return "no operator computes it"
}

// problem returns the problem of a recorded call, or nil if no operator serves the call.
func problem(c call, operators map[string]*operator.Operator) (*Problem, error) {
	if c.Operator == "" {
		return nil, nil
	}
	o := operators[c.Operator]
	if o == nil {
		return nil, fmt.Errorf("there is no operator %s", brief(c.Operator))
	}
	request := operator.Request{Shape: c.Shape, Parameters: map[string]string{}}
	for name, components := range c.Parameters {
		request.Parameters[name] = parameter(o, name, components)
	}
	p, err := o.Bind(request, operator.TypicalLimits())
	if err != nil {
		return nil, err
	}
	if request.Math = mathOf(p, c.TF32); request.Math != "" {
		if p, err = o.Bind(request, operator.TypicalLimits()); err != nil {
			return nil, err
		}
	}
	return &Problem{Problem: p, Named: request.Math != ""}, nil
}

// parameter returns a parameter's value in the form that --set accepts.
func parameter(o *operator.Operator, name string, components []setting) string {
	at := slices.IndexFunc(o.Parameters, func(s operator.ParameterSpec) bool { return s.Name == name })
	var texts []string
	for _, c := range components {
		text := string(c)
		if at >= 0 && o.Parameters[at].Type == operator.BoolParameter {
			text = fmt.Sprint(text != "0" && text != "false")
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "x")
}

// mathOf returns the math mode that PyTorch's settings determine, or "" if only PyTorch itself can tell. With TF32
// allowed, PyTorch rounds a product of matrices only if all its sizes are multiples of four (docs/measuring.md).
func mathOf(p *operator.Problem, tf32 *bool) string {
	const exact, rounded = "fp32", "tf32_even"
	modes := p.Operator.MathModes
	if tf32 == nil || p.Output().Type != operator.F32 || !slices.Contains(modes, exact) || !slices.Contains(modes, rounded) {
		return ""
	}
	switch {
	case !*tf32:
		return exact
	case p.Operator.MathAsk != nil:
		return ""
	case slices.ContainsFunc(p.Shape[1:], func(n int64) bool { return n%4 != 0 }):
		return exact
	}
	return rounded
}

// sort computes the shares, and sorts problems and calls by their times, the longest first.
func (s *Seen) sort() {
	whole := cmp.Or(s.MS, 1) // MS is 0 if no call took any time
	for i := range s.Problems {
		s.Problems[i].Share = s.Problems[i].MS / whole
	}
	for i := range s.Unserved {
		s.Unserved[i].Share = s.Unserved[i].MS / whole
	}
	slices.SortStableFunc(s.Problems, func(a, b Problem) int { return cmp.Compare(b.MS, a.MS) })
	slices.SortStableFunc(s.Unserved, func(a, b Unserved) int { return cmp.Compare(b.MS, a.MS) })
}

// notes returns sentences about the parts of the program that could not be watched.
func notes(records []*record, fault string, elsewhere int64, device string) (all []string) {
	var compiled, captured int64
	cut := 0
	for _, r := range records {
		compiled, captured = compiled+r.Compiled, captured+r.Captured
		fault = cmp.Or(fault, r.Fault)
		if !r.Whole && r.Fault == "" {
			cut++
		}
	}
	if fault != "" {
		all = append(all, "a process was not watched to its end: "+fault)
	}
	if len(records) == 0 && fault == "" {
		all = append(all, "no process imported PyTorch where it can be seen; Python with -I, -E or -S is not")
	}
	if cut > 0 {
		all = append(all, output.Count(cut, "process")+" did not end in order: the last seconds are missing")
	}
	if compiled > 0 {
		all = append(all, "torch.compile made "+output.Count(compiled, "graph")+", not seen from inside; with TORCHDYNAMO_DISABLE=1 in the environment all calls are seen")
	}
	if captured > 0 {
		all = append(all, output.Count(captured, "call")+" went into CUDA graphs: counted once, and not timed when a graph runs")
	}
	if elsewhere > 0 && device == "cuda" {
		all = append(all, "left out: "+output.Count(elsewhere, "call")+" on other devices")
	}
	return all
}
