package family

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/internal/spelling"
	"autotune/operator"
)

// Wish is what a user asks for: an operator, and shapes of it.
type Wish struct {
	Name     string // of the operator, as the user gave it
	Operator *operator.Operator
	operator.Request
	Shapes  Shapes
	Free    []string // the dimensions that kernels are to take when they run; none: as many as they can
	Samples int
	HeldOut int
	Share   float64 // of a program's time; 0: not told
}

// Plan is one family: the shapes that are searched and timed for it.
type Plan struct {
	Wish
	Samples, HeldOut [][]int64
}

func (p Plan) String() string { return p.Operator.Name + " " + p.Shapes.String() }

// Plans are the families of a wish, and what a user may not expect of them. Dimensions that vary are free if kernels
// can take them so. Each value of another is a family of its own.
func (w Wish) Plans() (plans []Plan, notice string, err error) {
	if err := w.check(); err != nil {
		return nil, "", fmt.Errorf("%s: %w", w.Operator.Name, err)
	}
	varying := w.varying()
	free, err := w.choose(varying)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", w.Operator.Name, err)
	}
	w.Request.Free = free
	apart := slices.DeleteFunc(varying, func(name string) bool { return slices.Contains(free, name) })
	single := 0
	for _, one := range w.apart(apart) {
		if p := one.plan(); len(p.Samples) >= policy.leastSamples {
			plans = append(plans, p)
		} else {
			single++
		}
	}
	why := "no kernel takes them when it runs together with " + strings.Join(free, ", ")
	if w.Free != nil {
		why = "--free leaves them out"
	}
	if len(apart) > 0 {
		notice = fmt.Sprintf("each value of %s is a family of its own, %d in all, since %s",
			strings.Join(apart, ", "), len(plans), why)
	}
	switch {
	case len(plans) > policy.mostFamilies:
		return nil, "", fmt.Errorf("%s: %s; %d are the most. Name fewer values of %s, as {14,28,56}",
			w.Operator.Name, notice, policy.mostFamilies, strings.Join(apart, ", "))
	case len(plans) == 0:
		return nil, "", fmt.Errorf("%s: fewer than %d shapes of %s can be searched as a family; `autotune search` takes "+
			"single shapes", w.Operator.Name, policy.leastSamples, w.Shapes)
	}
	if single > 0 {
		notice += fmt.Sprintf("; %s left out, since a family has %d shapes at least",
			output.Count(single, "single shape"), policy.leastSamples)
	}
	return plans, notice, nil
}

func (w Wish) check() error {
	switch dims := w.Operator.Shape; {
	case len(w.Shapes) != len(dims):
		return fmt.Errorf("a shape has %d dimensions, %s; got %d in %s",
			len(dims), strings.Join(dims, ", "), len(w.Shapes), w.Shapes)
	case len(w.varying()) == 0:
		return fmt.Errorf("%s is one shape, which `autotune search` takes; a family needs ranges, as {14..112} or {1,8,32}", w.Shapes)
	case w.Samples < policy.leastSamples || w.Samples > policy.mostSamples:
		return fmt.Errorf("a family has %d to %d samples; got %d", policy.leastSamples, policy.mostSamples, w.Samples)
	case w.HeldOut < 0 || w.HeldOut > policy.mostHeldOut:
		return fmt.Errorf("at most %d shapes are held out; got %d", policy.mostHeldOut, w.HeldOut)
	}
	for i, name := range w.Free {
		at := slices.Index(w.Operator.Shape, name)
		switch {
		case at < 0:
			hint := "there are " + strings.Join(w.Operator.Shape, ", ")
			if near := spelling.Nearest(name, w.Operator.Shape); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			return fmt.Errorf("no dimension is called %q; %s", name, hint)
		case slices.Contains(w.Free[:i], name):
			return fmt.Errorf("the dimension %s is given as free twice", name)
		case !w.Shapes[at].Varies():
			return fmt.Errorf("%s is to be free and has one value, %s; give it a range, as {1..%[2]s}", name, w.Shapes[at])
		}
	}
	return nil
}

func (w Wish) varying() (names []string) {
	for i, name := range w.Operator.Shape {
		if w.Shapes[i].Varies() {
			names = append(names, name)
		}
	}
	return names
}

// choose finds the dimensions that are dynamic: those asked for, or the most of those that vary which one template can
// take. Of as many it takes those of the most templates.
func (w Wish) choose(varying []string) ([]string, error) {
	counts := map[string]int{}
	var best []string
	templates := lists.Where(w.Operator.Templates, func(t *operator.Template) bool {
		return len(w.Only.Templates) == 0 || slices.Contains(w.Only.Templates, t.Name)
	})
	for _, t := range templates {
		names := lists.Where(varying, func(name string) bool {
			return slices.Contains(t.Free, name) && (w.Free == nil || slices.Contains(w.Free, name))
		})
		own, other := strings.Join(names, " "), strings.Join(best, " ")
		counts[own]++
		longer := cmp.Or(cmp.Compare(len(names), len(best)), cmp.Compare(counts[own], counts[other]))
		if longer > 0 && (w.Free == nil || len(names) == len(w.Free)) {
			best = names
		}
	}
	if best != nil {
		return best, nil
	}
	can := lists.Where(w.Operator.Templates, func(t *operator.Template) bool { return len(t.Free) > 0 })
	if len(can) == 0 {
		return nil, errors.New("none of its kernels takes a dimension when it runs; a template says with `free` in op.yaml which it can")
	}
	names := varying
	if w.Free != nil {
		names = w.Free
	}
	taking := lists.Of(can, func(t *operator.Template) string { return t.Name + ": " + strings.Join(t.Free, ", ") })
	return nil, fmt.Errorf("no kernel takes %s when it runs; those that take dimensions are %s",
		strings.Join(names, ", "), strings.Join(taking, "; "))
}

func containsAll(list, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(list, name) })
}

// apart are wishes with one value of each of the dimensions named. Hardly more are made than there may be.
func (w Wish) apart(names []string) (list []Wish) {
	ranges := slices.Clone(w.Shapes)
	for i, name := range w.Operator.Shape {
		if !slices.Contains(names, name) {
			ranges[i] = One(ranges[i].Low())
		}
	}
	for _, values := range ranges.all(4 * policy.mostFamilies) {
		next := w
		next.Shapes = slices.Clone(w.Shapes)
		for i, name := range w.Operator.Shape {
			if slices.Contains(names, name) {
				next.Shapes[i] = One(values[i])
			}
		}
		list = append(list, next)
	}
	return list
}

func (w Wish) plan() Plan {
	samples := w.Shapes.Samples(w.Samples, w.kinds)
	possible := func(shape []int64) bool { return len(w.kinds(shape)) > 0 }
	return Plan{Wish: w, Samples: samples, HeldOut: w.Shapes.HeldOut(w.HeldOut, samples, possible)}
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
