package family

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator"
	"autotune/tuner/batch"
)

// Plan is one family: a request, of which Free names the dimensions that kernels take when they run, and the shapes
// that are searched and timed for it.
type Plan struct {
	batch.Request
	Shapes           Shapes
	Samples, HeldOut [][]int64
}

func (p Plan) String() string { return p.Operator.Name + " " + p.Shapes.String() }

// NewPlan plans the family of a request for shapes, with so many samples and shapes held out.
func NewPlan(r batch.Request, shapes Shapes, samples, heldOut int) (Plan, error) {
	p := Plan{Request: r, Shapes: shapes}
	err := p.check(samples, heldOut)
	if err == nil {
		p.Free, err = p.dynamic()
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", r.Operator.Name, err)
	}
	p.Samples = shapes.Samples(samples, p.kinds)
	p.HeldOut = shapes.HeldOut(heldOut, p.Samples, func(shape []int64) bool { return len(p.kinds(shape)) > 0 })
	if len(p.Samples) < policy.leastSamples {
		err = fmt.Errorf("%s: fewer than %d shapes of %s can be searched as a family; `autotune search` takes single shapes",
			r.Operator.Name, policy.leastSamples, shapes)
	}
	return p, err
}

func (p *Plan) check(samples, heldOut int) error {
	switch dims := p.Operator.Shape; {
	case len(p.Shapes) != len(dims):
		return fmt.Errorf("a shape has %d dimensions, %s; got %d in %s",
			len(dims), strings.Join(dims, ", "), len(p.Shapes), p.Shapes)
	case len(p.varying()) == 0:
		return fmt.Errorf("%s is one shape, which `autotune search` takes; a family needs ranges, as {14..112} or {1,8,32}",
			p.Shapes)
	case samples < policy.leastSamples || samples > policy.mostSamples:
		return fmt.Errorf("a family has %d to %d samples; got %d", policy.leastSamples, policy.mostSamples, samples)
	case heldOut < 0 || heldOut > policy.mostHeldOut:
		return fmt.Errorf("at most %d shapes are held out; got %d", policy.mostHeldOut, heldOut)
	case p.Free != nil:
		return errors.New("the dimensions of a family that vary are free; leave `free` away")
	}
	return nil
}

func (p *Plan) varying() (names []string) {
	for i, name := range p.Operator.Shape {
		if p.Shapes[i].Varies() {
			names = append(names, name)
		}
	}
	return names
}

// dynamic are the dimensions that vary. At least one template must take all of them when it runs.
func (p *Plan) dynamic() ([]string, error) {
	var best, taking []string
	vary := p.varying()
	for _, t := range p.Operator.Templates {
		if len(p.Only.Templates) > 0 && !slices.Contains(p.Only.Templates, t.Name) {
			continue
		}
		names := lists.Where(vary, func(name string) bool { return slices.Contains(t.Free, name) })
		if len(names) > len(best) {
			best = names
		}
		if len(t.Free) > 0 {
			taking = append(taking, t.Name+": "+strings.Join(t.Free, ", "))
		}
	}
	switch {
	case len(best) == len(vary):
		return vary, nil
	case taking == nil:
		return nil, errors.New("none of its kernels takes a dimension when it runs; a template says with `free` in op.yaml " +
			"which it can")
	case best == nil:
		return nil, fmt.Errorf("no kernel takes %s when it runs; those that take dimensions are %s",
			strings.Join(vary, ", "), strings.Join(taking, "; "))
	}
	fixed := lists.Where(vary, func(name string) bool { return !slices.Contains(best, name) })
	return nil, fmt.Errorf("no kernel takes %s when it runs together with %s; give %[1]s one value, and make a family "+
		"of each",
		strings.Join(fixed, ", "), strings.Join(best, ", "))
}

// kinds tell shapes apart that no kernel serves together. There are none if the operator has no problem of the shape.
func (p *Plan) kinds(shape []int64) []string {
	bound, err := p.Operator.Bind(p.at(shape, true), operator.TypicalLimits())
	if err != nil {
		return nil
	}
	part, err := bound.Part(p.Only)
	if err != nil {
		return nil
	}
	return append(part.Kinds(), "")
}

// at is the request for a shape: of kernels that take the dynamic dimensions, or of those made for the shape.
func (p *Plan) at(shape []int64, dynamic bool) operator.Request {
	r := p.Request.Request
	if r.Shape = shape; !dynamic {
		r.Free = nil
	}
	return r
}
