package family

import (
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator"
)

// Wish is what a user asks for: an operator, and shapes of it.
type Wish struct {
	Name     string // of the operator, as the user gave it
	Operator *operator.Operator
	operator.Request
	Shapes  Shapes
	Samples int
	HeldOut int
	Share   float64 // of a program's time; 0: not known
}

// Plan is one family: the shapes that are searched and timed for it.
type Plan struct {
	Wish
	Samples, HeldOut [][]int64
}

func (p Plan) String() string { return p.Operator.Name + " " + p.Shapes.String() }

// Plan draws a wish's samples. The dimensions with ranges are dynamic: kernels take them when they run.
func (w Wish) Plan() (p Plan, err error) {
	if err := w.check(); err != nil {
		return p, fmt.Errorf("%s: %w", w.Operator.Name, err)
	}
	w.Request.Free = w.varying()
	p = Plan{Wish: w, Samples: w.Shapes.Samples(w.Samples, w.kinds)}
	possible := func(shape []int64) bool { return len(w.kinds(shape)) > 0 }
	p.HeldOut = w.Shapes.HeldOut(w.HeldOut, p.Samples, possible)
	if len(p.Samples) < policy.leastSamples {
		return p, fmt.Errorf("%s: fewer than %d shapes of %s can be searched; `autotune search` takes single shapes",
			w.Operator.Name, policy.leastSamples, w.Shapes)
	}
	return p, nil
}

func (w Wish) check() error {
	if dims := w.Operator.Shape; len(w.Shapes) != len(dims) {
		return fmt.Errorf("a shape has %d dimensions, %s; got %d in %s",
			len(dims), strings.Join(dims, ", "), len(w.Shapes), w.Shapes)
	}
	varying := w.varying()
	switch free := w.Request.Free; {
	case len(varying) == 0:
		return fmt.Errorf("%s is one shape, which `autotune search` takes; a family needs ranges, as {14..112} or {1,8,32}",
			w.Shapes)
	case w.Samples < policy.leastSamples || w.Samples > policy.mostSamples:
		return fmt.Errorf("a family has %d to %d samples; got %d", policy.leastSamples, policy.mostSamples, w.Samples)
	case w.HeldOut < 0 || w.HeldOut > policy.mostHeldOut:
		return fmt.Errorf("at most %d shapes are held out; got %d", policy.mostHeldOut, w.HeldOut)
	case free != nil && !(containsAll(free, varying) && containsAll(varying, free)):
		return fmt.Errorf("the dimensions with ranges are dynamic, here %s; `free` names %s",
			strings.Join(varying, ", "), strings.Join(free, ", "))
	}
	templates := lists.Where(w.Operator.Templates, func(t *operator.Template) bool {
		return len(t.Free) > 0 && (len(w.Only.Templates) == 0 || slices.Contains(w.Only.Templates, t.Name))
	})
	if slices.ContainsFunc(templates, func(t *operator.Template) bool { return containsAll(t.Free, varying) }) {
		return nil
	}
	taking := lists.Of(templates, func(t *operator.Template) string { return t.Name + ": " + strings.Join(t.Free, ", ") })
	return fmt.Errorf("no kernel takes %s when it runs; give one value of a dimension that none takes. Those that "+
		"kernels take: %s", strings.Join(varying, ", "), strings.Join(taking, "; "))
}

func (w Wish) varying() []string {
	return lists.Where(w.Operator.Shape, func(name string) bool {
		return w.Shapes[slices.Index(w.Operator.Shape, name)].Varies()
	})
}

func containsAll(list, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(list, name) })
}

// kinds tell shapes apart that no kernel serves together; none: the operator has no problem of it.
func (w Wish) kinds(shape []int64) []string {
	p, err := w.Operator.Bind(w.at(shape, true), operator.TypicalLimits())
	if err != nil {
		return nil
	}
	part, err := p.Part(w.Only)
	if err != nil {
		return nil
	}
	return append(part.Kinds(), "")
}

// at is the request for a shape: of kernels that take the dynamic dimensions, or of those made for the shape.
func (w Wish) at(shape []int64, dynamic bool) operator.Request {
	r := w.Request
	if r.Shape = shape; !dynamic {
		r.Free = nil
	}
	return r
}
