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
// A mapping with the key `include` has the fragment's keys that it does not give itself. A key in
// `adding` may be in both without a conflict: the fragment's values stand beside the mapping's own.
// An item of a list that only includes a file stands for the items of the file.

// adding are the keys whose values in a mapping and in its fragment add up.
var adding = []string{"derived", "parameters", "let", "requires", "constraints"}

// ofOne are the keys of a template that a template which includes it does not take over.
var ofOne = []string{"name", "summary", "tunables", "workspaces", "default"}

const mostDeep = 8 // fragments that include each other

var listForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\.yaml$`)

// Includer puts fragments into the places of a tree that include them.
type Includer struct {
	Read   func(name string) (text, from string, err error) // a fragment's file
	Shared []string                                         // files that may be meant

	templates []*Node // so far, whole
	deep      int     // fragments within each other
	taken     int     // how many values templates have from those that they include
}

// including gives the entry that includes a fragment; nil if there is none.
func (n *Node) including() *Entry {
	if at := slices.IndexFunc(n.Entries, func(e Entry) bool { return e.Key == "include" }); at >= 0 {
		return &n.Entries[at]
	}
	return nil
}

// Own gives what a mapping has under a key itself, and not from a fragment; nil if it has none.
func (n *Node) Own(key string) *Node { return (&Node{Entries: n.own}).Get(key) }

// Expand makes a node and its parts whole; key is the one that it is the value of.
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

// merge puts what a mapping includes in the place of the key `include`. An own value of a key stands in
// the place of the fragment's.
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

// model is what a mapping includes by a name, and the keys of it that it leaves.
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

// add gives a mapping an entry of a fragment or of its own.
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

// sum is a mapping's own value together with that of its fragment: of two lists the fragment's items
// come first, of two mappings the own entries, and instead of the fragment's of the same name.
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

// isList tells whether an item of a list stands for the items of a file.
func (n *Node) isList(include Entry) bool {
	return !slices.ContainsFunc(n.Entries, func(e Entry) bool { return e != include && e.Key != "with" })
}

// itemsOf are the items of the file that an item of a list names. They know what it gives them `with`.
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

// earlier is the mapping of a template that came before.
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

// open is a fragment's file, whole; key is what it is included for.
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
