package packer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/pack"
	"autotune/space/expr"
)

// family writes a family's functions in C, and returns its row. place is a file's index among the
// pack's.
func (w *cOperator) family(f *pack.Family, operation, number int, place func(string) int) (text, row string, err error) {
	defer notInC(&err)
	var b strings.Builder
	var variants []string
	for i, v := range f.Variants {
		w.variant(&b, v, fmt.Sprintf("%d_%d", number, i))
		variants = append(variants, fmt.Sprintf("{%d, INT64_C(%d), serve_%d_%d}", place(v.File), v.Sizes.At, number, i))
	}
	fmt.Fprintf(&b, "static const autotune_variant variants_%d[] = {%s};\n", number, strings.Join(append(variants, "{0}"), ", "))
	fmt.Fprintf(&b, "static int has_%d(const int64_t* v) { return %s; }\n", number, w.has(f))
	w.leaf(&b, f.Tree, number)
	arch, own := targetInC(f.Target)
	row = fmt.Sprintf("{%d, %d, %d, %s, %d, %d, %s, has_%d, leaf_%[8]d, variants_%[8]d}", operation, slices.Index(w.Math, f.Math), truth(f.Auto), arch, own,
		truth(f.Regret != nil), quote.C(f.Device), number)
	return b.String(), row, nil
}

// has is a condition in C: the problem is in the family's range and has its parameters.
func (w *cOperator) has(f *pack.Family) string {
	var all []string
	for i, spans := range f.Range {
		in := lists.Of(spans, func(s pack.Span) string {
			return fmt.Sprintf("(v[%d] >= INT64_C(%d) && v[%[1]d] <= INT64_C(%[3]d))", i, s[0], s[1])
		})
		all = append(all, "("+strings.Join(append(in, "0"), " || ")+")")
	}
	for _, name := range w.given[len(w.Shape):] {
		all = append(all, fmt.Sprintf("v[%d] == %s", w.place[name], w.constant(name, f.Values[name])))
	}
	return strings.Join(all, " && ")
}

// leaf writes the tree as a function.
func (w *cOperator) leaf(b *strings.Builder, tree *pack.Node, number int) {
	var body, tables strings.Builder
	leaves := 0
	var walk func(n *pack.Node, indent string)
	walk = func(n *pack.Node, indent string) {
		if n.If == nil {
			entries := lists.Of(n.Entries, strconv.Itoa)
			fmt.Fprintf(&tables, "    static const int leaf%d[] = {%s};\n", leaves, strings.Join(append(entries, "-1"), ", "))
			fmt.Fprintf(&body, "%sreturn leaf%d;\n", indent, leaves)
			leaves++
			return
		}
		fmt.Fprintf(&body, "%sholds = !!%s;\n%[1]sif (overflow) return NULL;\n%[1]sif (holds) {\n", indent, w.holds(n.If.Root()))
		walk(n.Then, indent+"    ")
		fmt.Fprintf(&body, "%s}\n", indent)
		walk(n.Else, indent)
	}
	walk(tree, "    ")
	fmt.Fprintf(b, "static const int* leaf_%d(const int64_t* v) {\n%s    int overflow = 0, *bad = &overflow, holds;\n    (void)v, (void)bad, (void)holds;\n%s}\n",
		number, tables.String(), body.String())
}

// variant writes what says whether a family's kernel serves a problem, and computes its launches.
func (w *cOperator) variant(b *strings.Builder, v *pack.Variant, name string) {
	line := func(format string, args ...any) { fmt.Fprintf(b, "    "+format+"\n", args...) }
	outer := w.truth
	w.local, w.truth = map[string]string{}, maps.Clone(outer)
	defer func() { w.local, w.truth = nil, outer }()
	passed := w.passed(v)
	var maps [][]int // of each launch the places of its maps' tensors
	count := 0
	for i, l := range v.Launches {
		mustTake(l.Arguments)
		places, tensors := placesIn(passed, l.Arguments, l.Maps, count)
		fmt.Fprintf(b, "static const int arguments_%s_%d[] = {%s};\n", name, i, places)
		maps, count = append(maps, tensors), count+len(tensors)
	}
	if behind := len(v.Workspaces) + len(v.Scalars); len(v.Launches) > 8 || behind > 30 || len(v.Sizes.Names) > 128 || count > 8 {
		panic(cError(fmt.Sprintf("it has %d launches, %d workspaces and scalars, %d sizes, and %d tensor maps; 8, 30, 128 and 8 are the most",
			len(v.Launches), behind, len(v.Sizes.Names), count)))
	}
	fmt.Fprintf(b, "static int serve_%s(const int64_t* v, autotune_made* m) {\n", name)
	line("int overflow = 0, *bad = &overflow;")
	for i, d := range v.Define {
		line("int64_t d%d = %s; /* %s */", i, w.number(d.Expression.Root(), nil), d.Name)
		w.local[d.Name], w.truth[d.Name] = fmt.Sprint("d", i), w.isTruth(d.Expression.Root())
	}
	for _, f := range v.Where {
		line("if (!%s || overflow) return 0;", w.holds(f.Root()))
	}
	at := 0
	for i, l := range v.Launches {
		w.launch(line, l, fmt.Sprintf("arguments_%s_%d", name, i), maps[i], at)
		at += len(maps[i])
	}
	for i, s := range v.Workspaces {
		line("m->workspace[%d] = %s;", i, w.bounded(s.Expression, 0, 1<<50))
	}
	for i, s := range v.Scalars {
		line("m->workspace[%d] = %s;", len(v.Workspaces)+i, w.number(s.Expression.Root(), nil))
	}
	for i, size := range v.Sizes.Names {
		n := &expr.Node{Op: expr.OpName, Name: size}
		line("m->size[%d] = (int32_t)within(%s, INT32_MIN, INT32_MAX, bad);", i, w.number(n, nil))
	}
	line("m->workspaces = %d, m->scalars = %d, m->sizes = %d, m->maps = %d;", len(v.Workspaces), len(v.Scalars), len(v.Sizes.Names), count)
	line("(void)v;")
	line("return m->steps > 0 && !overflow;")
	b.WriteString("}\n")
}

// passed lists what a launch may take: tensors, then workspaces, then scalars.
func (w *cOperator) passed(v *pack.Variant) []string {
	behind := slices.Concat(v.Workspaces, v.Scalars)
	return append(w.Taken(), lists.Of(behind, func(d pack.Definition) string { return d.Name })...)
}

// launch writes the code that adds a launch. Its tensor maps, of these tensors, follow so many others of the variant.
func (w *cOperator) launch(line func(string, ...any), l pack.OpenLaunch, arguments string, tensors []int, before int) {
	when := "1"
	if l.When != nil {
		when = w.holds(l.When.Root())
	}
	three := func(f [3]pack.Formula, least, most int64) string {
		all := lists.Of(f[:], func(f pack.Formula) string { return "(uint32_t)" + w.bounded(f, least, most) })
		return "{" + strings.Join(all, ", ") + "}"
	}
	cluster := "{0}"
	if l.Cluster != nil {
		cluster = three(*l.Cluster, 1, 16)
	}
	dependent := "0"
	if l.Dependent {
		dependent = "m->steps > 0"
	}
	line("if (%s) {", when)
	line("    const autotune_step made = {%s, %s, %s, (uint32_t)%s, %s, %d, %s, %d, %s};", quote.C(l.Entry), three(l.Grid, 1, math.MaxInt32), three(l.Block, 1, 1024),
		w.bounded(l.SharedBytes, 0, 1<<20), cluster, truth(l.Cooperative), dependent, len(l.Arguments), arguments)
	line("    m->step[m->steps] = made;")
	if l.Cluster != nil { // a cluster of one block is none
		line("    if (made.cluster[0] * made.cluster[1] * made.cluster[2] == 1) memset(m->step[m->steps].cluster, 0, sizeof made.cluster);")
	}
	for i, m := range l.Maps {
		line("    m->map[%d].tensor = %d;", before+i, tensors[i])
		for at, word := range m.Words {
			line("    m->map[%d].word[%d] = %s;", before+i, at, w.number(word.Root(), nil))
		}
	}
	line("    m->steps++;")
	line("}")
}

// bounded is an expression in C that notes a number out of bounds as bad.
func (w *cOperator) bounded(f pack.Formula, least, most int64) string {
	return fmt.Sprintf("within(%s, INT64_C(%d), INT64_C(%d), bad)", w.number(f.Root(), nil), least, most)
}
