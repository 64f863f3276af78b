package operator

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"autotune/templates"
)

// A mapping or a list may include a fragment, which is a file or an earlier template.
//
// A mapping with the key `include` has the fragment's keys that it does not give itself. A key in
// `adding` may be in both without a conflict: the fragment's values stand beside the mapping's own.
// An item of a list that only includes a file stands for the items of the file.

// adding are the keys whose values in a mapping and in its fragment add up.
var adding = []string{"derived", "parameters", "let", "requires", "constraints"}

// ofOne are the keys of a template that no other template has from it.
var ofOne = []string{"name", "summary", "tunables", "workspaces", "default"}

// ofLaunches are keys of which a template gives all, or has all from another.
var ofLaunches = []string{"entry", "launch", "launches"}

const mostDeep = 8 // fragments that include each other

var listForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\.yaml$`)

// fragment is a file that another includes. Its number is in its tokens, which have their places.
type fragment struct {
	file string
	by   Position // where it is included
	deep int
}

// including gives the entry that includes a fragment; nil if there is none.
func (l *loader) including(n ast.Node) *ast.MappingValueNode {
	for _, pair := range pairsOf(n) {
		key, _, _ := scalar(pair.Key)
		if key == "include" || old[key] != "" && l.takesOld(key, n) {
			return pair
		}
	}
	return nil
}

// takesOld tells whether a mapping's key is an old word for `include`: a template's.
func (l *loader) takesOld(key string, n ast.Node) bool {
	return slices.ContainsFunc(pairsOf(n), func(pair *ast.MappingValueNode) bool {
		other, _, _ := scalar(pair.Key)
		return key == "from" || other == "name"
	})
}

func pairsOf(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// whole is a mapping together with what it includes.
func (l *loader) whole(n ast.Node) ast.Node {
	pair := l.including(n)
	if pair == nil || l.isList(n) {
		return n
	}
	if known, ok := l.merged[n]; ok {
		return known
	}
	l.noteOld(pair)
	name := l.text(pair.Value)
	model, left := ast.Node(nil), []string(nil)
	if listForm.MatchString(name) {
		model = l.whole(l.open(pair.Value, name))
	} else {
		model, left = l.earlier(pair.Value, name), ofOne
	}
	if pairsOf(model) == nil {
		l.fail(at(pair.Value), "`%s` is %s, which a mapping cannot include", name, kind(model))
	}
	result := &ast.MappingNode{BaseNode: &ast.BaseNode{}, Start: n.GetToken()}
	given := map[string]int{}
	for _, own := range pairsOf(n) {
		if own != pair {
			key, _, _ := scalar(own.Key)
			given[key] = len(result.Values)
			result.Values = append(result.Values, own)
		}
	}
	if slices.ContainsFunc(ofLaunches[1:], func(key string) bool { _, ok := given[key]; return ok }) {
		left = slices.Concat(left, ofLaunches)
	}
	for _, other := range pairsOf(model) {
		key, _, _ := scalar(other.Key)
		i, ok := given[key]
		switch {
		case slices.Contains(left, key):
		case !ok:
			result.Values = append(result.Values, other)
		case slices.Contains(adding, key):
			both := *result.Values[i]
			both.Value = l.sum(both.Value, other.Value)
			result.Values[i] = &both
		}
	}
	l.merged[n] = result
	return result
}

// sum is a mapping's own value together with that of its fragment: of two lists the fragment's items
// come first, of two mappings the own entries, and instead of the fragment's of the same name.
func (l *loader) sum(own, other ast.Node) ast.Node {
	if a, ok := own.(*ast.SequenceNode); ok {
		if b, ok := other.(*ast.SequenceNode); ok {
			return &ast.SequenceNode{BaseNode: &ast.BaseNode{}, Start: a.Start, Values: slices.Concat(b.Values, a.Values)}
		}
	}
	result := &ast.MappingNode{BaseNode: &ast.BaseNode{}, Start: own.GetToken(), Values: slices.Clone(pairsOf(own))}
	for _, pair := range pairsOf(other) {
		key, _, _ := scalar(pair.Key)
		if !slices.ContainsFunc(result.Values, func(has *ast.MappingValueNode) bool { name, _, _ := scalar(has.Key); return name == key }) {
			result.Values = append(result.Values, pair)
		}
	}
	return result
}

// spliced are the items of a list together with those of the files that it includes.
func (l *loader) spliced(items []ast.Node) []ast.Node {
	var all []ast.Node
	for _, item := range items {
		l.lists[item] = true
		if l.isList(item) {
			all = append(all, l.itemsOf(item)...)
		} else {
			all = append(all, l.eachAxis(item)...)
		}
	}
	return all
}

// isList tells whether an item of a list stands for the items of a file.
func (l *loader) isList(item ast.Node) bool {
	pair := l.including(item)
	if pair == nil {
		return false
	}
	key, _, _ := scalar(pair.Key)
	return key == "from" || !slices.ContainsFunc(pairsOf(item), func(beside *ast.MappingValueNode) bool {
		other, _, _ := scalar(beside.Key)
		return beside != pair && other != "with"
	}) && l.lists[item]
}

// itemsOf are the items of the file that an item of a list names. They know what it gives them `with`.
func (l *loader) itemsOf(item ast.Node) []ast.Node {
	pair := l.including(item)
	l.noteOld(pair)
	var with ast.Node
	for _, beside := range pairsOf(item) {
		switch key, _, _ := scalar(beside.Key); {
		case key == "with":
			with = beside.Value
		case beside != pair:
			l.failHint(place(beside.Key.GetToken()), "an item for a file's templates has the keys include, with", "unknown key `%s`", key)
		}
	}
	name := l.text(pair.Value)
	if !listForm.MatchString(name) {
		l.refuse(pair.Value, "this must name a file with a list of templates, in the operator's folder or a shared one, as convolution.yaml")
	}
	items := l.items(l.open(pair.Value, name), "a file of templates")
	for _, n := range items {
		if with != nil {
			l.with[n] = with
		}
	}
	return items
}

// earlier is the mapping of a template that was read before.
func (l *loader) earlier(n ast.Node, name string) ast.Node {
	names := templateNames(l.o.Templates)
	i := slices.Index(names, name)
	if i < 0 {
		l.failHint(at(n), nearestOrAll(name, "there are", names), "unknown earlier template `%s`", name)
	}
	model := l.mappings[i]
	var size count
	ast.Walk(&size, model)
	if l.taken += int(size) + len(l.o.Arguments); l.taken > mostMarks {
		l.fail(at(n), "what templates have from those that they include is more than %d values", mostMarks)
	}
	return model
}

// count counts nodes.
type count int

func (n *count) Visit(ast.Node) ast.Visitor {
	*n++
	return n
}

// open parses a fragment's file.
func (l *loader) open(n ast.Node, name string) ast.Node {
	text, from, err := l.include(name)
	if errors.Is(err, fs.ErrNotExist) {
		l.failHint(at(n), nearestOrAll(name, "shared are", fileNames(templates.FS, "include/*.yaml")),
			"there is no file `%s` of templates, in the operator's folder or shared", name)
	}
	if err != nil {
		l.fail(at(n), "the file `%s` %v", name, err)
	}
	f := fragment{file: from, by: l.kept(at(n)), deep: 1}
	if source := at(n).source; source > 0 {
		f.deep += l.fragments[source-1].deep
	}
	if f.deep > mostDeep {
		l.fail(at(n), "files include each other, or %d deep", f.deep)
	}
	l.fragments = append(l.fragments, f)
	reader := document{file: from, what: "a fragment", empty: "it holds keys, or a list of templates", second: "one file has one fragment"}
	root := reader.parse(text)
	ast.Walk(numbering(len(l.fragments)), root)
	return root
}

// numbering writes the number of a fragment into its tokens, in place of offsets, which nothing
// reads: so a place in it is told from one in op.yaml.
type numbering int

func (number numbering) Visit(n ast.Node) ast.Visitor {
	if t := n.GetToken(); t != nil && t.Position != nil {
		t.Position.Offset = -int(number)
	}
	return number
}

// kept is a place with the file that it is in, and where that is included.
func (l *document) kept(where Position) Position {
	if where.source > 0 && where.File == "" {
		f := l.fragments[where.source-1]
		where.File, where.By = f.file, fmt.Sprintf("%s:%d:%d", cmp.Or(f.by.File, l.file), f.by.Line, f.by.Column)
	}
	return where
}
