package tree

import (
	"cmp"
	"errors"
	"io/fs"
	"regexp"
	"slices"
)

// A mapping or a list may include a fragment, which is a file or an earlier template.
//
// A mapping with the key `include` takes over those keys of the fragment that the mapping does not have itself. For the
// keys that the variable adding lists, the fragment's value and the mapping's own value are combined. An item of a list
// that only includes a file is replaced by the items of the file.

// adding lists the keys whose values in a mapping and in an included fragment are combined, not replaced.
var adding = []string{"derived", "parameters", "let", "requires", "constraints"}

// ofOne lists the keys of an included template that the including template does not take over.
var ofOne = []string{"name", "summary", "tunables", "workspaces", "default"}

const mostDeep = 8 // fragments that include each other

var listForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\.yaml$`)

// Includer replaces the includes in a tree by the included fragments.
type Includer struct {
	Read   func(name string) (text, from string, err error) // a fragment's file
	Shared []string                                         // files that may be meant

	templates []*Node // read so far, with their includes expanded
	deep      int     // nesting depth of fragments
	taken     int     // how many values templates have taken from included templates
}

// including returns the `include` entry of a mapping, or nil if there is none.
func (n *Node) including() *Entry {
	if at := slices.IndexFunc(n.Entries, func(e Entry) bool { return e.Key == "include" }); at >= 0 {
		return &n.Entries[at]
	}
	return nil
}

// Own returns a key's value, or nil if the mapping lacks the key or has it only from a fragment.
func (n *Node) Own(key string) *Node { return (&Node{Entries: n.own}).Get(key) }

// Expand replaces all includes in a node; key is the key whose value the node is.
func (in *Includer) Expand(n *Node, key string) {
	if n.Failed() { // perhaps since files include each other
		return
	}
	if e := n.including(); e != nil {
		in.merge(n, *e)
	}
	for _, e := range n.Entries {
		in.Expand(e.Value, e.Key)
	}
	var items []*Node
	for _, item := range n.Items {
		if e := item.including(); e != nil && item.isList(*e) {
			items = append(items, in.itemsOf(item, *e, key)...)
			continue
		}
		in.Expand(item, "")
		items = append(items, item)
		if key == "templates" {
			in.templates = append(in.templates, item)
		}
	}
	n.Items = items
}

// merge replaces the key `include` of a mapping by the entries of the included fragments. If the mapping and a fragment
// have the same key, the mapping's own value replaces the fragment's.
func (in *Includer) merge(n *Node, include Entry) {
	at := slices.Index(n.Entries, include)
	n.own = slices.Delete(slices.Clone(n.Entries), at, at+1)
	n.Entries = slices.Clone(n.own[:at])
	names := []*Node{include.Value}
	if include.Value.Kind == List {
		names = include.Value.Items
	}
	for _, name := range names {
		model, left := in.model(n, name)
		if n.Failed() {
			return
		}
		for _, other := range model.Entries {
			if !slices.Contains(left, other.Key) {
				n.add(other)
			}
		}
	}
	for _, own := range n.own[at:] {
		n.add(own)
	}
}

// model returns the fragment that a mapping includes by a name, and the keys of the fragment that are not taken over.
func (in *Includer) model(n, include *Node) (model *Node, left []string) {
	name := include.Text()
	if listForm.MatchString(name) {
		model = in.open(include, name, "")
	} else {
		model, left, n.Model = in.earlier(include, name), ofOne, name
	}
	if model.Kind != Mapping {
		include.Refuse("`%s` is %s, which a mapping cannot include", name, model.Kind)
	}
	return model, left
}

// add adds an entry to a mapping: one of the mapping's own entries, or one from an included fragment.
func (n *Node) add(e Entry) {
	own := n.Own(e.Key)
	adds := own != e.Value && slices.Contains(adding, e.Key)
	i := slices.IndexFunc(n.Entries, func(other Entry) bool { return other.Key == e.Key })
	switch {
	case i >= 0 && adds:
		n.Entries[i].Value = sum(n.Entries[i].Value, e.Value)
	case i >= 0:
	case own != nil && adds:
		n.Entries = append(n.Entries, Entry{e.Position, e.Key, sum(own, e.Value)})
	default:
		n.Entries = append(n.Entries, Entry{e.Position, e.Key, cmp.Or(own, e.Value)})
	}
}

// sum combines the values that a mapping and an included fragment have for the same key. If both values are lists, sum
// joins them, with the fragment's items first. If both values are mappings, the entries of the mapping own come first
// and replace the fragment's entries of the same name.
func sum(own, other *Node) *Node {
	both := *own
	if own.Kind == List && other.Kind == List {
		both.Items = slices.Concat(other.Items, own.Items)
		return &both
	}
	both.Kind, both.Entries = Mapping, slices.Clone(own.Entries)
	for _, e := range other.Entries {
		if own.Get(e.Key) == nil {
			both.Entries = append(both.Entries, e)
		}
	}
	return &both
}

// isList tells whether an item of a list is to be replaced by the items of a file.
func (n *Node) isList(include Entry) bool {
	return !slices.ContainsFunc(n.Entries, func(e Entry) bool { return e != include && e.Key != "with" })
}

// itemsOf returns the items of the file that a list item includes; the items' formulas can use the values of the list
// item's `with`.
func (in *Includer) itemsOf(item *Node, include Entry, key string) []*Node {
	with := item.Get("with")
	name := include.Value.Text()
	if !listForm.MatchString(name) {
		include.Value.Refuse("this must name a file with a list of templates, in the operator's folder or a shared one, as convolution.yaml")
	}
	items := in.open(include.Value, name, key).List("a file of templates")
	for _, n := range items {
		if with != nil {
			n.With = with
		}
	}
	return items
}

// earlier returns the mapping of the template that an `include` names, which must come before the including template.
func (in *Includer) earlier(at *Node, name string) *Node {
	var names []string
	for _, t := range in.templates {
		if own := t.Get("name"); own != nil && own.Written == name {
			if in.taken += t.size(); in.taken > mostMarks {
				at.Refuse("what templates have from those that they include is more than %d values", mostMarks)
			}
			return t
		} else if own != nil {
			names = append(names, own.Written)
		}
	}
	at.RefuseHint(NearestOrAll(name, "there are", names), "unknown earlier template `%s`", name)
	return at
}

func (n *Node) size() int {
	size := 1
	for _, item := range n.Items {
		size += item.size()
	}
	for _, e := range n.Entries {
		size += 1 + e.Value.size()
	}
	return size
}

// open reads a fragment's file and expands its includes; key is the key whose value includes the fragment.
func (in *Includer) open(at *Node, name, key string) *Node {
	text, from, err := in.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		at.RefuseHint(NearestOrAll(name, "shared are", in.Shared), "there is no file `%s` of templates, in the operator's folder or shared", name)
	}
	if err != nil {
		at.Refuse("the file `%s` %v", name, err)
	}
	in.deep++
	defer func() { in.deep-- }()
	if in.deep > mostDeep {
		at.Refuse("files include each other, or %d deep", in.deep)
	}
	if at.Failed() {
		return at
	}
	root := File{
		Name: from, By: at.Position.String(),
		Faults: at.faults, What: "a fragment", Empty: "it holds keys, or a list of templates", Second: "one file has one fragment",
	}.Parse(text)
	in.Expand(root, key)
	return root
}
