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

// Plan describes a family to tune: the request, whose field Free names the dimensions that kernels take at run time,
// and the shapes to search and to time.
type Plan struct {
	batch.Request
	Shapes           Shapes
	Samples, HeldOut [][]int64
}

func (p Plan) String() string { return p.Operator.Name + " " + p.Shapes.String() }

func NewPlan(r batch.Request, shapes Shapes, samples, heldOut int) (Plan, error) {
	p := Plan{Request: r, Shapes: shapes}
	if err := p.check(samples, heldOut); err != nil {
		return p, fmt.Errorf("%s: %w", r.Operator.Name, err)
	}
	p.Samples = shapes.Samples(samples, p.kinds)
	p.HeldOut = shapes.HeldOut(heldOut, p.Samples, func(shape []int64) bool { return len(p.kinds(shape)) > 0 })
	if len(p.Samples) < policy.leastSamples {
		return p, fmt.Errorf("%s: fewer than %d shapes of %s can be searched as a family; `autotune search` takes single shapes",
			r.Operator.Name, policy.leastSamples, shapes)
	}
	return p, nil
}

// check returns an error for a plan from which no family can be tuned, and sets Free to all dimensions that vary. At
// least one template must take all dimensions that vary at run time.
func (p *Plan) check(samples, heldOut int) error {
	dims := p.Operator.Shape
	switch {
	case len(p.Shapes) != len(dims):
		return fmt.Errorf("a shape has %d dimensions, %s; got %d in %s",
			len(dims), strings.Join(dims, ", "), len(p.Shapes), p.Shapes)
	case !slices.ContainsFunc(p.Shapes, Extent.Varies):
		return fmt.Errorf("%s is one shape, which `autotune search` takes; a family needs ranges, as {14..112} or {1,8,32}",
			p.Shapes)
	case samples < policy.leastSamples || samples > policy.mostSamples || heldOut < 0 || heldOut > policy.mostHeldOut:
		return fmt.Errorf("a family has %d to %d samples, and at most %d shapes held out; got %d and %d",
			policy.leastSamples, policy.mostSamples, policy.mostHeldOut, samples, heldOut)
	case p.Free != nil:
		return errors.New("the dimensions of a family that vary are free; leave `free` away")
	}
	p.Free = lists.Where(dims, func(name string) bool { return p.Shapes[slices.Index(dims, name)].Varies() })
	var best []string
	for _, t := range p.Operator.Templates {
		names := lists.Where(p.Free, func(name string) bool { return slices.Contains(t.Free, name) })
		usable := len(p.Only.Templates) == 0 || slices.Contains(p.Only.Templates, t.Name)
		if usable && len(names) > len(best) {
			best = names
		}
	}
	fixed := strings.Join(lists.Where(p.Free, func(name string) bool { return !slices.Contains(best, name) }), ", ")
	switch {
	case best == nil:
		return fmt.Errorf("no kernel takes %s when it runs; a template says with `free` in op.yaml what it takes", fixed)
	case fixed != "":
		return fmt.Errorf("no kernel takes %s when it runs together with %s; give %[1]s one value, and make a family of each",
			fixed, strings.Join(best, ", "))
	}
	return nil
}

// kinds returns names for the kinds of kernels that may serve a shape; a kernel serves only shapes that share its kind.
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

// at returns the request for one shape of the plan, either with dynamic dimensions or for kernels made for this shape
// alone.
func (p *Plan) at(shape []int64, dynamic bool) operator.Request {
	r := p.Request.Request
	if r.Shape = shape; !dynamic {
		r.Free = nil
	}
	return r
}
