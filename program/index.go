package program

import (
	"cmp"
	"slices"
	"strings"
)

// index is a graph with what makes and reads its values.
type index struct {
	graph     *Graph
	values    map[string]Tensor
	producers map[string]int    // of a value: its node
	readers   map[string][]int  // of a value: the nodes
	bases     map[string]string // of views, and of what may be one, the values whose memory they show
}

func indexed(g *Graph) index {
	x := index{g, map[string]Tensor{}, map[string]int{}, map[string][]int{}, map[string]string{}}
	for _, t := range slices.Concat(g.Inputs, g.State) {
		x.values[t.Name] = t
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for _, t := range n.Results {
			x.values[t.Name], x.producers[t.Name] = t, i
			if (n.is(views) || n.is(strided) || n.is(copies)) && len(n.Arguments) > 0 {
				x.bases[t.Name] = x.base(n.Arguments[0].Value)
			}
		}
		for name := range n.Reads() {
			if !slices.Contains(x.readers[name], i) {
				x.readers[name] = append(x.readers[name], i)
			}
		}
	}
	return x
}

func (x *index) base(name string) string { return cmp.Or(x.bases[name], name) }

// words is a set of functions of ATen's, without their overloads.
func words(text string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(text) {
		all[word] = true
	}
	return all
}

var (
	// views give the elements of the first argument in the same order.
	views = words("view reshape unsqueeze squeeze flatten unflatten _unsafe_view view_as reshape_as")
	// strided give other views of their first argument.
	strided = words("transpose t numpy_T mT permute select slice narrow expand expand_as movedim swapaxes unbind " +
		"split chunk split_with_sizes diagonal as_strided unfold")
	// casts give their first argument in another type, or in the same.
	casts = words("to _to_copy type_as float half bfloat16")
	// copies give their first argument, or a copy of it, unless arguments or types say otherwise.
	copies = words("contiguous clone detach detach_ alias lift_fresh_copy lift_fresh lift to _to_copy type_as float " +
		"half bfloat16 dropout feature_dropout alpha_dropout mul div expand")
)

// functionOf is the name of an ATen function, without its overload and with it.
func functionOf(n *Node) (name, overload string) {
	overload = strings.TrimPrefix(n.Function, "aten.")
	name, _, _ = strings.Cut(overload, ".")
	return name, overload
}

func (n *Node) is(one map[string]bool) bool { name, _ := functionOf(n); return one[name] }

// isView tells whether a call gives its first argument's elements in the same order.
func (n *Node) isView() bool { return n.is(views) && len(n.Results) == 1 }
