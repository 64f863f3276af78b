package operator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/space"
	"autotune/space/expr"
)

// Formulas describe how to launch a configuration's kernel for other values of free (dynamic) dimensions. In Formulas,
// tunables, limits and fixed dimensions are replaced by numbers. The names that remain in Formulas are free dimensions,
// derived values of the operator, and values of Define.
type Formulas struct {
	Where      []Formula    // all must be true
	Define     []Definition // each after those that it names
	Launches   []LaunchSpec // a text of theirs has no expressions; Cooperative and Dependent are constants
	Workspaces []Definition // bytes
	Scalars    []Definition // values of those that launches take
	Sizes      []Size       // of the kernel
}

// At evaluates the formulas in Define, and adds the results to the map values. If Where refuses the values, or a
// formula cannot be computed, ok is false, and the kernel cannot run for the values.
func (f Formulas) At(values map[string]expr.Value) (all map[string]expr.Value, ok bool) {
	all = maps.Clone(values)
	for _, d := range f.Define {
		v, err := d.Formula.code.Eval(all)
		if err != nil {
			return nil, false
		}
		all[d.Name] = v
	}
	for _, where := range f.Where {
		if v, err := where.code.Eval(all); err != nil || !v.Truth() {
			return nil, false
		}
	}
	return all, true
}

func (p *Problem) Formulas(c space.Configuration) (Formulas, error) {
	u, err := useAt(p, c)
	if err != nil {
		return Formulas{}, err
	}
	k, err := u.kernel()
	if err != nil {
		return Formulas{}, err
	}
	return u.formulas(k)
}

// reducer replaces the known names in a template's formulas by their values.
type reducer struct {
	u     use
	short *expr.Folder // leaves names whose values depend on free dimensions
	err   error        // the first
	used  map[string]bool
}

func (u use) formulas(k Kernel) (f Formulas, err error) {
	all := u.folder(u.tunables(), u.kept())
	known := maps.Clone(all.Constants)
	defined := slices.Concat(u.t.With, u.t.Derived)
	for _, d := range slices.Concat(u.p.Operator.Derived, defined) {
		if n := all.Fold(d.Formula.code.Root()); n.Op == expr.OpConst {
			known[d.Name] = n.Value
		}
	}
	r := &reducer{u: u, short: &expr.Folder{Constants: known}, used: map[string]bool{}}
	f.Where, f.Launches, f.Sizes = append(r.kept(), r.where()...), r.launches(), k.Sizes
	f.Workspaces = r.workspaces(k.Launches)
	scalars, held := r.scalars(k.Launches)
	f.Scalars, f.Where = scalars, append(f.Where, held...)
	f.Define = r.definitions(defined, k.Sizes)
	return f, r.err
}

func (r *reducer) fail(f Formula, format string, args ...any) {
	if r.err == nil {
		r.err = r.u.fault(f, "formula", fmt.Errorf(format, args...))
	}
}

func (r *reducer) reduce(f Formula) Formula { return r.formula(f, r.short.Fold(f.code.Root())) }

func (r *reducer) formula(of Formula, n *expr.Node) Formula {
	code, err := expr.Parse(n.Source())
	if err != nil {
		r.fail(of, "%w", err)
		return of
	}
	for _, name := range code.Names() {
		r.used[name] = true
	}
	return Formula{Text: code.String(), Position: of.Position, code: code}
}

// kept returns, for each value that the kernel contains as a constant, the condition that the value is unchanged.
func (r *reducer) kept() (all []Formula) {
	open := r.u.folder(r.u.tunables(), nil)
	for _, v := range r.u.kept() {
		same := constant(v.Name + " == " + v.Value.Source())
		if n := open.Fold(same.code.Root()); n.Op != expr.OpConst {
			all = append(all, r.formula(same, n))
		}
	}
	return all
}

// where returns the template's conditions that depend on free (dynamic) dimensions.
func (r *reducer) where() (all []Formula) {
	conditions := r.u.constraints()
	for _, m := range r.u.t.TensorMaps {
		conditions = append(conditions, m.layout()...)
	}
	if r.u.t.When != nil {
		conditions = slices.Insert(conditions, 0, *r.u.t.When)
	}
	for _, f := range conditions {
		for _, part := range r.short.Fold(f.code.Root()).Conjuncts() {
			switch {
			case part.Op != expr.OpConst:
				condition := r.formula(f, part)
				if !slices.ContainsFunc(all, func(other Formula) bool { return other.Text == condition.Text }) {
					all = append(all, condition)
				}
			case !part.Value.Truth():
				r.fail(f, "it does not hold, whatever %v", r.u.p.Free)
			}
		}
	}
	return all
}

func (r *reducer) launches() (all []LaunchSpec) {
	for i := range r.u.t.Launches {
		s := r.u.t.Launches[i]
		entry, err := r.u.interpolate("entry", s.Entry)
		if err != nil {
			r.fail(s.Block[0], "%w", err)
		}
		s.Entry = plainText(entry)
		if s.When != nil {
			when := r.reduce(*s.When)
			switch root := when.code.Root(); {
			case root.Op != expr.OpConst:
				s.When = &when
			case root.Value.Truth():
				s.When = nil
			default:
				continue
			}
		}
		for axis := range 3 {
			s.Block[axis], s.Grid[axis] = r.reduce(s.Block[axis]), r.reduce(s.Grid[axis])
		}
		if s.Cluster != nil {
			s.Cluster = &[3]Formula{r.reduce(s.Cluster[0]), r.reduce(s.Cluster[1]), r.reduce(s.Cluster[2])}
		}
		s.Arguments, s.Maps = r.passes(s)
		s.Shared, s.Cooperative, s.Dependent = r.reduce(s.Shared), r.constant(s.Cooperative), r.constant(s.Dependent)
		all = append(all, s)
	}
	return all
}

func (r *reducer) constant(f Formula) Formula {
	reduced := r.reduce(f)
	if reduced.code.Root().Op != expr.OpConst {
		r.fail(f, "it depends on free dimensions, as %s; only extents can", reduced.Text)
	}
	return reduced
}

func (r *reducer) taken(role Role, launches Launches) (places []int) {
	for i, a := range r.u.p.Arguments {
		takes := func(l Launch) bool { return slices.Contains(Passed(r.u.p.Arguments, l), i) }
		if a.Role == role && slices.ContainsFunc(launches, takes) {
			places = append(places, i)
		}
	}
	return places
}

// scalars returns the formulas of the scalars that launches take, and the conditions that integers fit their types.
func (r *reducer) scalars(launches Launches) (all []Definition, held []Formula) {
	for _, i := range r.taken(Scalar, launches) {
		spec := r.u.p.Operator.Arguments[i]
		value, facts := r.reduce(*spec.Value), spec.Type.facts()
		all = append(all, Definition{Name: spec.Name, Formula: value})
		if value.code.Root().Op != expr.OpConst && facts.kind != Floating && facts.bytes < 8 {
			least, most := facts.bounds()
			held = append(held, r.reduce(constant(fmt.Sprintf("%d <= %s <= %d", least, value.Text, most))))
		}
	}
	return all, held
}

// workspaces returns the size in bytes of each workspace that launches take.
func (r *reducer) workspaces(launches Launches) (all []Definition) {
	for _, i := range r.taken(Workspace, launches) {
		spec, folder := r.u.p.Operator.Arguments[i], r.short
		if spec.Owner != "" {
			owner, _ := r.u.p.Operator.Template(spec.Owner)
			folder = useOf(r.u.p, owner).folder(nil, nil)
		}
		bytes := &expr.Node{Op: expr.OpConst, Value: expr.Int(spec.typeIn(r.u.p.Values).Bytes())}
		for _, f := range spec.Shape {
			bytes = &expr.Node{Op: expr.OpMul, Args: []*expr.Node{bytes, f.code.Root()}}
		}
		all = append(all, Definition{Name: spec.Name, Formula: r.formula(constant("0"), folder.Fold(bytes))})
	}
	return all
}

// definitions returns the values that other formulas and sizes use. If a size belongs to another template in the same
// file, its definition uses the defaults of that template.
func (r *reducer) definitions(own []Definition, sizes []Size) (all []Definition) {
	for _, s := range sizes {
		r.used[s.Name] = true
	}
	for _, d := range slices.Backward(own) {
		if _, isConstant := r.short.Constants[d.Name]; !isConstant && r.used[d.Name] {
			all = append(all, Definition{Name: d.Name, Formula: r.reduce(d.Formula)})
		}
	}
	slices.Reverse(all)
	var inverses []Definition
	for _, s := range sizes {
		name, isInverse := strings.CutPrefix(s.Name, inverse)
		if isInverse {
			inverses = append(inverses, inverseOf(name))
			continue
		}
		_, ofProblem := r.u.p.Values[s.Name]
		if ofProblem || slices.ContainsFunc(own, func(d Definition) bool { return d.Name == s.Name }) {
			continue
		}
		for _, t := range neighbours(r.u.p, r.u.t.Name, r.u.t.Source) {
			i := slices.IndexFunc(t.Derived, func(d Definition) bool { return d.Name == s.Name })
			if i >= 0 {
				d := t.Derived[i]
				folder := useOf(r.u.p, t).folder(t.Default.Values, nil)
				all = append(all, Definition{Name: d.Name, Formula: r.formula(d.Formula, folder.Fold(d.Formula.code.Root()))})
				break
			}
		}
	}
	return append(all, inverses...)
}
