package operator

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space"
	"autotune/space/expr"
)

func (l *loader) templates(n *tree.Node, problem scope) {
	for _, item := range n.List("templates") {
		r := &templateReader{loader: l, known: problem.with("device limit", limitNames...), f: fields(item, "a template")}
		macros := expr.Macros{Axes: l.Axes, Named: maps.Clone(l.Named)}
		l.Axes, l.seen = l.all, map[string]bool{}
		t := r.read(item)
		if l.Failed() {
			return
		}
		maps.Copy(l.o.mentioned, l.seen)
		l.o.Templates = append(l.o.Templates, t)
		l.Macros, l.seen = macros, l.o.mentioned
	}
	if len(l.o.Templates) == 0 {
		n.Refuse("an operator needs at least one template")
	}
}

type templateReader struct {
	*loader
	*Template
	known scope // the names that it may use: of the problem, the device, and its own so far
	f     tree.Fields
}

func (r *templateReader) read(n *tree.Node) *Template {
	f, s := r.f, r.known
	t := &Template{
		With: r.definitions(r.named(n.With, "with must be a mapping of names to expressions"), s),
		Name: f["name"].Name(), Summary: tree.Optional(f["summary"], (*tree.Node).Text, ""),
		naming: r.o.Macros, Tunables: []space.Tunable{}, at: n.Position, launchAt: f["launch"].Where(),
	}
	r.Template = t
	if _, twice := r.o.Template(t.Name); twice {
		f["name"].Refuse("two templates are called `%s`", t.Name)
	}
	if t.Name == "reference" {
		f["name"].Refuse("a template cannot be called `reference`: its entry point would be the reference's")
	}
	if r.own == nil {
		f["source"] = r.usual(f["source"], f["name"], t.Name+".cu")
	}
	t.kernel = r.kernelName(f["source"], r.o.Name+"_"+t.Name)
	if model, ok := r.o.Template(n.Model); ok {
		r.likeAnother(model, n)
	}
	r.define(f["let"], s)
	t.When = tree.Pointer(f["when"], r.over(s))
	for _, e := range r.named(f["tunables"], "tunables must be a mapping of names to lists of values") {
		if e.Key == "template" {
			e.RefuseHint("call it something else", "a tunable cannot be called `template`: recordings keep the template's name under that key")
		}
		r.declare(s, e.Position, e.Key, "tunable")
		t.Tunables = append(t.Tunables, tunable(e))
	}
	t.Derived = r.definitions(r.named(f["derived"], derivedForm), s)
	r.workspaces()
	t.Constraints = list(r.language, f["constraints"], "constraints", r.over(s))
	t.Flags = list(r.language, f["flags"], "flags", func(n *tree.Node) Interpolated { return r.interpolated(n, s) })
	r.tensorMaps()
	r.launches(f["launch"])
	if r.Failed() {
		return t
	}
	r.launchLimits = launchLimits(r.Launches, r.TensorMaps)
	r.free()
	r.defaults()
	t.mentioned = maps.Clone(r.seen)
	t.Estimate = tree.Pointer(f["estimate"], r.over(s))
	t.Source = r.kernelFile(f["source"], n, t.entries()...)
	return t
}

func tunable(e tree.Entry) space.Tunable {
	t := space.Tunable{Name: e.Key}
	items := e.Value.List("a tunable's values")
	for _, item := range items {
		t.Values = append(t.Values, value(item))
	}
	if len(items) == 0 {
		e.Value.Refuse("`%s` has no values", e.Key)
	}
	if slices.ContainsFunc(t.Values, isFloat) {
		for i := range t.Values {
			t.Values[i] = asFloat(t.Values[i])
		}
	}
	for i, v := range t.Values {
		if v.Kind() != t.Values[0].Kind() {
			items[i].Refuse("`%s` mixes types: %s is not of the type of %v", e.Key, items[i].Written, t.Values[0])
		}
		if slices.Contains(t.Values[:i], v) {
			items[i].Refuse("`%s` has the value %v twice", e.Key, v)
		}
	}
	return t
}

func isFloat(v expr.Value) bool { return v.Kind() == expr.KindFloat }

// asFloat converts an int to a float and returns other values unchanged.
func asFloat(v expr.Value) expr.Value {
	if f, ok := v.AsFloat(); ok && v.Kind() == expr.KindInt {
		return expr.Float(f)
	}
	return v
}

func value(n *tree.Node) expr.Value {
	switch n.MustBe("a value").Kind {
	case tree.Truth:
		return expr.Bool(n.Bool())
	case tree.Integer:
		return expr.Int(n.Int())
	case tree.Number:
		return expr.Float(n.Float())
	}
	if !tree.IsName(n.Value) {
		n.Refuse("`%s` cannot be a macro's value: integers, numbers, booleans and names can", n.Value)
	}
	return expr.String(n.Value)
}

func (r *templateReader) defaults() {
	n, t := r.f["default"], r.Template
	t.Default, t.defaultAt = space.Configuration{Template: t.Name}, cmp.Or(n, &tree.Node{Position: t.at}).Position
	names := map[string]bool{}
	for _, tunable := range t.Tunables {
		names[tunable.Name] = true
	}
	given := n.Fields("default", names)
	for _, tunable := range t.Tunables {
		if given == nil {
			t.Default.Values = append(t.Default.Values, space.Value{Name: tunable.Name, Value: tunable.Values[0]})
			continue
		}
		n := given[tunable.Name]
		v := value(n)
		if isFloat(tunable.Values[0]) {
			v = asFloat(v)
		}
		if !slices.Contains(tunable.Values, v) {
			n.RefuseHint(fmt.Sprintf("they are %v", tunable.Values), "the default %s=%v is not among its values", tunable.Name, v)
		}
		t.Default.Values = append(t.Default.Values, space.Value{Name: tunable.Name, Value: v})
	}
}

func (r *templateReader) launches(n *tree.Node) {
	items := []*tree.Node{n}
	if n.Kind == tree.List {
		items = n.Items
	}
	r.Launches = lists.Of(items, r.launch)
	if len(r.Launches) == 0 {
		n.Refuse("a template needs at least one launch")
	}
}

func (r *templateReader) launch(n *tree.Node) LaunchSpec {
	f, formula := fields(n, "a launch"), r.over(r.known)
	extents := func(what string) (all [3]Formula) {
		formulas := list(r.language, f[what], what, formula)
		if len(formulas) < 1 || len(formulas) > 3 {
			f[what].Refuse("%s has %d entries; it has one to three: x, y, z", what, len(formulas))
		}
		copy(all[:], append(formulas, constant("1"), constant("1"), constant("1")))
		return all
	}
	spec := LaunchSpec{
		Entry: plainText(r.kernel), at: n.Position, Block: extents("block"), Grid: extents("grid"),
		When:        tree.Pointer(f["when"], formula),
		Shared:      tree.Optional(f["shared"], formula, constant("0")),
		Cooperative: tree.Optional(f["cooperative"], formula, constant("False")),
		Dependent:   tree.Optional(f["dependent"], formula, constant("False")),
		Cluster:     tree.Pointer(f["cluster"], func(*tree.Node) [3]Formula { return extents("cluster") }),
	}
	if entry := f["entry"]; entry != nil && strings.HasPrefix(entry.Written, "_") {
		spec.Entry = plainText(r.kernel + entry.Name())
	} else if entry != nil {
		spec.Entry = r.interpolated(entry, r.known)
		if !entryForm.MatchString(spec.Entry.Text) {
			entry.RefuseHint("as scale, or as \"scan<float, {threads}>\"", "`%s` does not name a kernel", spec.Entry.Text)
		}
	}
	if f["arguments"] != nil {
		spec.Arguments = r.passed(f["arguments"])
	}
	return spec
}

// free reads the dimensions that the kernel can take at run time, which formulas for the compiler's input must not use.
func (r *templateReader) free() {
	n, t := r.f["free"], r.Template
	t.Free = tree.Optional(n, func(n *tree.Node) []string { return r.names(n, "free") }, nil)
	// A fragment may give a derived value the name of a dimension that the including operator lacks.
	t.Free = slices.DeleteFunc(t.Free, func(name string) bool {
		return slices.ContainsFunc(r.o.Derived, func(d Definition) bool { return d.Name == name })
	})
	for _, name := range t.Free {
		if !slices.Contains(r.o.Shape, name) {
			n.RefuseHint(tree.NearestOrAll(name, "there are", r.o.Shape), "`%s` is no dimension, and only dimensions can be free", name)
			return
		}
	}
	texts := slices.Clone(t.Flags)
	texts = append(texts, lists.Of(t.Launches, func(launch LaunchSpec) Interpolated { return launch.Entry })...)
	var kept space.Values
	t.Keep = tree.Optional(r.f["keep"], func(n *tree.Node) []string { return r.names(n, "keep") }, nil)
	for _, name := range t.Keep {
		if !slices.ContainsFunc(t.Derived, func(d Definition) bool { return d.Name == name }) {
			r.f["keep"].Refuse("`%s` is no derived value of the template, and only those can be kept", name)
		}
		kept = append(kept, space.Value{Name: name, Value: expr.Int(0)})
	}
	folder := use{p: &Problem{Operator: r.o, Values: map[string]expr.Value{}}, t: t}.folder(nil, kept)
	for _, text := range texts {
		for _, f := range text.formulas() {
			for _, name := range folder.Fold(f.code.Root()).Names() {
				if slices.Contains(t.Free, name) {
					n.RefuseHint("a compiler must know it", "`%s` cannot be free: `%s` depends on it", name, text.Text)
				}
			}
		}
	}
}

// entryForm matches the name of a kernel, optionally with namespaces and template arguments.
var entryForm = regexp.MustCompile(`^(?:[A-Za-z_]\w*::)*([A-Za-z_]\w*)\s*(?:<.*>)?$`)

func (r *templateReader) passable() []ArgumentSpec {
	return lists.Where(r.o.Arguments, func(a ArgumentSpec) bool { return a.Symbol == "" && (a.Owner == "" || r.has(a.Owner)) })
}

func (r *templateReader) passed(n *tree.Node) []string {
	names := lists.Of(r.passable(), func(a ArgumentSpec) string { return a.Name })
	for _, m := range r.TensorMaps {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return list(r.language, n, "arguments", func(n *tree.Node) string {
		name := n.Name()
		if !slices.Contains(names, name) {
			n.RefuseHint(tree.NearestOrAll(name, "there are", names), "no tensor or scalar that can be passed is called `%s`", name)
		}
		return name
	})
}

// entries returns the names of the kernels that a template launches, without namespaces and template arguments.
func (t *Template) entries() []string {
	return lists.Of(t.Launches, func(launch LaunchSpec) string { return entryForm.FindStringSubmatch(launch.Entry.Text)[1] })
}

// workspaces reads the template's workspaces, whose shapes may use only values that all configurations share.
func (r *templateReader) workspaces() {
	same := maps.Clone(r.known)
	for _, tunable := range r.Tunables {
		delete(same, tunable.Name)
	}
	for _, d := range r.Derived {
		if slices.ContainsFunc(d.Formula.code.Names(), func(name string) bool { return same[name] == "" }) {
			delete(same, d.Name)
		}
	}
	for _, item := range r.f["workspaces"].List("workspaces") {
		f := fields(item, "a tensor")
		f.None("a workspace has a name, a type and a shape", "role", "order", "fill", "value", "tolerance")
		a := ArgumentSpec{Name: f["name"].Name(), Role: Workspace, Type: F32, Owner: r.Name}
		if f["type"] != nil {
			a.Type = Type(f["type"].OneOf("type", Types()...))
		}
		a.Types = []Type{a.Type}
		if f["shape"] == nil {
			f["name"].Refuse("the workspace `%s` has no shape", a.Name)
		}
		if r.o.argument(a.Name) >= 0 {
			f["name"].Refuse("two tensors are called `%s`", a.Name)
		}
		a.Shape = list(r.language, f["shape"], "shape", r.over(r.known))
		for _, formula := range a.Shape {
			for _, name := range formula.code.Names() {
				if same[name] == "" {
					formula.RefuseHint("all configurations have the same workspaces", "the shape of `%s` depends on a tunable, by `%s`", a.Name, name)
				}
			}
		}
		r.o.Arguments = append(r.o.Arguments, a)
	}
}

// A template that includes an earlier template uses the same kernel with other tunables.

// likeAnother copies from an included template the parts that do not come from keys of op.yaml: its kernel, its
// workspaces and the values of its `with`.
func (r *templateReader) likeAnother(model *Template, n *tree.Node) {
	r.like = model
	r.sameWorkspaces(model, r.named(n.Own("derived"), derivedForm))
	if n.Own("launch") == nil {
		r.kernel = model.kernel
	}
	for _, d := range model.With {
		if r.known[d.Name] == "" { // the included template comes from another file
			r.declare(r.known, n.Position, d.Name, "value")
			r.With = append(r.With, d)
		}
	}
}

// sameWorkspaces refuses derived values that would change the workspaces a template shares with its included template.
func (r *templateReader) sameWorkspaces(model *Template, own []tree.Entry) {
	needed := map[string]bool{}
	need := func(formulas ...Formula) {
		for _, f := range formulas {
			for _, name := range f.code.Names() {
				needed[name] = true
			}
		}
	}
	for _, a := range r.o.Arguments {
		if a.Owner != "" && model.has(a.Owner) {
			need(a.Shape...)
		}
	}
	for _, d := range slices.Backward(model.Derived) { // a value comes after the values that it names
		if needed[d.Name] {
			need(d.Formula)
		}
	}
	for _, e := range own {
		if needed[e.Key] {
			e.Refuse("the shapes of workspaces that are template `%s`'s too depend on `%s`", model.Name, e.Key)
		}
	}
}

// has tells whether a template uses the workspaces of the template owner: it must be owner or a template that includes
// owner.
func (t *Template) has(owner string) bool {
	return t.Name == owner || t.like != nil && t.like.has(owner)
}
