package operator

import (
	"regexp"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// launches reads a template's `launch`, of a kernel unless it names another, or its list
// of `launches`.
func (l *loader) launches(f map[string]ast.Node, node ast.Node, s scope, t *Template, kernel string) []LaunchSpec {
	one, several := f["launch"], f["launches"]
	switch {
	case one != nil && several != nil:
		l.fail(at(several), "a template has `launch` or `launches`, not both")
	case one != nil:
		return []LaunchSpec{l.launch(one, s, t, f["entry"], kernel)}
	case several == nil:
		l.fail(at(node), "a template lacks the key `launch`")
	case f["entry"] != nil:
		l.failHint(at(f["entry"]), "each of the launches has its own", "`entry` has no place beside `launches`")
	}
	specs := list(l, several, "launches", func(n ast.Node) LaunchSpec { return l.launchOfSeveral(n, s, t, kernel) })
	if len(specs) == 0 {
		l.fail(at(several), "a template needs at least one launch")
	}
	return specs
}

// launchOfSeveral reads one of a list, which names its entry, or what that has behind the
// kernel's name.
func (l *loader) launchOfSeveral(n ast.Node, s scope, t *Template, kernel string) LaunchSpec {
	f := l.fields(n, "a listed launch")
	if f["suffix"] != nil {
		kernel += "_" + l.identifier(f["suffix"])
		l.none(f, "it is the kernel's name and the suffix", "entry")
	}
	spec := l.launchOf(f, n, s, t, f["entry"], kernel)
	spec.When = pointer(f["when"], l.over(s))
	return spec
}

// launch reads the one launch of a template.
func (l *loader) launch(n ast.Node, s scope, t *Template, entry ast.Node, kernel string) LaunchSpec {
	return l.launchOf(l.fields(n, "a launch"), n, s, t, entry, kernel)
}

// launchOf reads a launch of a kernel from its keys; the entry, if there is one, says which.
func (l *loader) launchOf(f map[string]ast.Node, n ast.Node, s scope, t *Template, entry ast.Node, kernel string) LaunchSpec {
	spec := LaunchSpec{
		Entry: plainText(kernel), at: l.kept(at(n)),
		Block: l.axes(f["block"], "block", s), Grid: l.axes(f["grid"], "grid", s),
		Shared:      optional(f["shared"], l.over(s), constant("0")),
		Cooperative: optional(f["cooperative"], l.over(s), constant("False")),
		Dependent:   optional(f["dependent"], l.over(s), constant("False")),
		Cluster:     pointer(f["cluster"], func(n ast.Node) [3]Formula { return l.axes(n, "cluster", s) }),
	}
	if entry != nil {
		spec.Entry = l.entry(entry, s)
	}
	if f["arguments"] != nil {
		spec.Arguments = l.passed(f["arguments"], t)
	}
	return spec
}

// entryForm is what names a kernel: a name, perhaps in namespaces, perhaps with
// template arguments.
var entryForm = regexp.MustCompile(`^(?:[A-Za-z_]\w*::)*([A-Za-z_]\w*)\s*(?:<.*>)?$`)

func (l *loader) entry(n ast.Node, s scope) Interpolated {
	t := l.interpolated(n, s)
	if !entryForm.MatchString(t.Text) {
		l.failHint(at(n), "as scale, or as \"scan<float, {threads}>\"", "`%s` does not name a kernel", t.Text)
	}
	return t
}

// passed reads the names of the arguments that a launch of a template passes.
func (l *loader) passed(n ast.Node, t *Template) []string {
	var names []string
	for _, a := range l.o.Arguments {
		if a.Symbol == "" && (a.Owner == nil || t.has(a.Owner)) {
			names = append(names, a.Name)
		}
	}
	return list(l, n, "arguments", func(n ast.Node) string {
		name := l.identifier(n)
		if !slices.Contains(names, name) {
			l.failHint(at(n), nearestOrAll(name, "there are", names), "no tensor or scalar that can be passed is called `%s`", name)
		}
		return name
	})
}

// entries are the names of the kernels that a template launches, without namespaces
// and template arguments.
func (t *Template) entries() []string {
	var names []string
	for i := range t.Launches {
		names = append(names, entryForm.FindStringSubmatch(t.Launches[i].Entry.Text)[1])
	}
	return names
}
