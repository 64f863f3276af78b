package packer

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/pack"
	"autotune/space/expr"
)

//go:embed generated
var generatedFS embed.FS

// generated are the templates of code that is written for a pack. Whatever is a text in a manifest is quoted there.
var generated = template.Must(template.New("").Funcs(template.FuncMap{
	"quote": quote.C, "comment": quote.CComment, "upper": strings.ToUpper, "python": quote.Python,
	"join": func(texts []string) string { return strings.Join(texts, ", ") },
}).ParseFS(generatedFS, "generated/*.tmpl"))

func write(name string, data any) []byte {
	var b bytes.Buffer
	if err := generated.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the templates fit their data
	}
	return b.Bytes()
}

// What a pack may have at most in C: the sizes of arrays in autotune_pack.c.
const (
	mostValuesInC    = 126
	mostTensorsInC   = 16
	mostRankInC      = 8
	mostArgumentsInC = 46
	mostLaunchesInC  = 8
	mostMapsInC      = 8
	mostBehindInC    = 30 // workspaces and scalars
	mostSizesInC     = 128
)

// cPack is a pack in C, as its templates see it.
type cPack struct {
	*pack.Manifest
	Operators []*cOperator
	Families  []cFamily
	General   []cGeneral
	Files     []cFile

	contents func(file string) []byte
	notices  []string
}

// cFile is a file with its FNV-1a checksum, which finds damage.
type cFile struct {
	Path  string
	Bytes int
	Sum   uint64
}

// cText is a formula with the name and the place of its value.
type cText struct {
	Place      int
	Name, Text string
}

// cMust is a condition, and arguments of printf that say what it asks for.
type cMust struct {
	Holds, Format string
	Values        []string
}

// cCheck is what is checked of a dimension or a component.
type cCheck struct {
	cText
	Default, Missing string
	Must             []cMust
}

type cMember struct {
	Identifier, Words string
	Real              bool
}

type cTensor struct {
	pack.TensorSpec
	Element string
	Extents []string
	Written bool
	Empty   bool // it may have no elements
}

// cGeneral is a general kernel's row.
type cGeneral struct {
	Operation, Mode, At, Type, File int
	Value, Entry                    string
	Sizes                           []string
}

// cFamily is a family's row and functions, or those of an entry: a family of one problem.
type cFamily struct {
	Operation, Mode, Automatic, Arch, Own, Measured, Exact int
	Device                                                 string
	Has                                                    []string
	Tree                                                   cNode
	Entries                                                []cEntry
}

type cNode struct {
	If         string
	Then, Else *cNode
	Entries    []string
}

type cEntry struct {
	File                          int
	At                            int64
	Define                        []cText
	Where, Behind, Sizes          []string
	Launches                      []cLaunch
	Workspaces, Scalars, MapCount int
}

type cLaunch struct {
	Entry, When, Shared          string
	Places, Grid, Block, Cluster []string
	Cooperative, Dependent       bool
	Maps                         []cMap
}

type cMap struct {
	Place, Tensor int
	Words         []string
}

// cFiles are a pack's header and tables for autotune_pack.c. An operator or a kernel whose formulas have no form in C is
// left out, and a notice says so.
func cFiles(m *pack.Manifest, contents func(file string) []byte) (header, tables []byte, notices []string) {
	c := &cPack{Manifest: m, contents: contents}
	for _, o := range m.Operators {
		w := newCOperator(o, m.Types)
		if w.fault != nil {
			c.leave(o.Name, w.fault)
			continue
		}
		c.Operators = append(c.Operators, w)
		c.kernels(w, len(c.Operators)-1)
	}
	return write("pack.h.tmpl", c), write("pack.c.tmpl", c), c.notices
}

func (c *cPack) leave(what string, fault error) {
	c.notices = append(c.notices, fmt.Sprintf("%s is left out of what C can call: %v", what, fault))
}

// kernels adds what the pack has for an operator.
func (c *cPack) kernels(o *cOperator, operation int) {
	add := func(f *pack.Family, what string, exact int) {
		o.fault = nil
		row := c.family(o, f)
		if o.fault != nil {
			c.leave(what, o.fault)
			return
		}
		row.Operation, row.Exact = operation, exact
		c.Families = append(c.Families, row)
	}
	for _, e := range c.Manifest.Entries {
		if e.Operator == o.Name {
			add(familyOfOne(o.Operator, e), e.Problem, 1)
		}
	}
	for _, f := range c.Manifest.Families {
		if f.Operator == o.Name {
			add(f, f.Problem, 0)
		}
	}
	for _, g := range c.Manifest.General {
		if g.Operator != o.Name {
			continue
		}
		row := cGeneral{Operation: operation, Mode: slices.Index(o.Math, g.Math), At: -1, Value: "0", File: c.file(g.File), Entry: g.Entry}
		if by := o.Operator.Tensors[0].TypeBy; by != "" {
			row.Type = slices.Index(o.words[by], g.Type)
		}
		for name, v := range g.Values { // one at most
			row.At, row.Value = o.place[name], o.constant(name, v)
		}
		row.Sizes = lists.Of(g.Sizes, func(name string) string { return strconv.Itoa(o.place[name]) })
		c.General = append(c.General, row)
	}
}

// file is the place of a file among those that kernels need.
func (c *cPack) file(path string) int {
	at := slices.IndexFunc(c.Files, func(f cFile) bool { return f.Path == path })
	if at < 0 {
		data, sum := c.contents(path), fnv.New64a()
		sum.Write(data)
		at, c.Files = len(c.Files), append(c.Files, cFile{path, len(data), sum.Sum64()})
	}
	return at
}

// familyOfOne is an entry as a family that serves its problem alone.
func familyOfOne(o *pack.Operator, e *pack.Entry) *pack.Family {
	number := func(n int64) pack.Formula { return pack.Formula{Expr: expr.Constant(expr.Int(n))} }
	numbers := func(all []int64) []pack.Formula { return lists.Of(all, number) }
	named := func(all []pack.Named[int64]) []pack.Definition {
		return lists.Of(all, func(n pack.Named[int64]) pack.Definition {
			return pack.Definition{Name: n.Name, Value: number(n.Value)}
		})
	}
	v := &pack.Variant{Code: pack.Code[pack.Formula]{File: e.File, Workspaces: named(e.Workspaces), Scalars: named(e.Scalars)}}
	for _, l := range e.Launches {
		made := pack.LaunchOf[pack.Formula]{
			Entry: l.Entry, Grid: [3]pack.Formula(numbers(l.Grid[:])), Block: [3]pack.Formula(numbers(l.Block[:])), SharedBytes: number(l.SharedBytes),
			Cooperative: l.Cooperative, Dependent: l.Dependent, Arguments: l.Arguments,
		}
		if l.Cluster != [3]int64{} {
			made.Cluster = [3]pack.Formula(numbers(l.Cluster[:]))
		}
		for _, m := range l.Maps {
			made.Maps = append(made.Maps, pack.TensorMap[pack.Formula]{At: m.At, Words: numbers(m.Words)})
		}
		v.Launches = append(v.Launches, made)
	}
	f := &pack.Family{
		Operator: e.Operator, Values: e.Values, Math: e.Math, Auto: e.Auto, Target: e.Target, Device: e.Device,
		Variants: []*pack.Variant{v}, Tree: &pack.Node{Entries: []int{0}},
	}
	for _, name := range o.Shape {
		n, _ := e.Values[name].AsInt()
		f.Range = append(f.Range, []pack.Span{{n, n}})
	}
	if e.Time != nil {
		f.Regret = &pack.Regret{} // it was measured
	}
	return f
}

func (c *cPack) family(o *cOperator, f *pack.Family) cFamily {
	arch, own, err := targetOf(f.Target)
	o.fail(err)
	row := cFamily{
		Mode: slices.Index(o.Math, f.Math), Automatic: truth(f.Auto), Arch: arch, Own: truth(own), Measured: truth(f.Regret != nil),
		Device: f.Device, Has: o.has(f), Tree: *o.node(f.Tree),
	}
	for _, v := range f.Variants {
		e := o.variant(v)
		e.File = c.file(v.File)
		row.Entries = append(row.Entries, e)
	}
	return row
}

// targetOf is an architecture's number, and whether its code runs on no later one.
func targetOf(target string) (arch int, own bool, err error) {
	digits := strings.TrimPrefix(target, "sm_")
	number := strings.TrimRight(digits, "abcdefghijklmnopqrstuvwxyz")
	if arch, err = strconv.Atoi(number); err != nil {
		err = fmt.Errorf("%.40q is no architecture", target)
	}
	return arch, number != digits, err
}

func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}

// has are conditions: the problem is in the family's range and has its parameters.
func (w *cOperator) has(f *pack.Family) (all []string) {
	for i, spans := range f.Range {
		in := lists.Of(spans, func(s pack.Span) string {
			return fmt.Sprintf("(v[%d] >= INT64_C(%d) && v[%[1]d] <= INT64_C(%[3]d))", i, s[0], s[1])
		})
		all = append(all, "("+strings.Join(append(in, "0"), " || ")+")")
	}
	for _, name := range w.given[len(w.Shape):] {
		all = append(all, fmt.Sprintf("v[%d] == %s", w.place[name], w.constant(name, f.Values[name])))
	}
	return all
}

func (w *cOperator) node(n *pack.Node) *cNode {
	if n.If == nil {
		return &cNode{Entries: lists.Of(append(slices.Clone(n.Entries), -1), strconv.Itoa)}
	}
	return &cNode{If: w.holds(*n.If), Then: w.node(n.Then), Else: w.node(n.Else)}
}

// variant is what serves a problem with one kernel.
func (w *cOperator) variant(v *pack.Variant) (e cEntry) {
	outer := *w
	w.local, w.truth = map[string]string{}, maps.Clone(w.truth)
	defer func() { w.local, w.truth = outer.local, outer.truth }()
	e.At, e.Workspaces, e.Scalars = v.Sizes.At, len(v.Workspaces), len(v.Scalars)
	for i, d := range v.Define {
		e.Define = append(e.Define, cText{i, d.Name, w.number(d.Value)})
		w.local[d.Name], w.truth[d.Name] = fmt.Sprint("d", i), w.isTruth(d.Value.Root())
	}
	e.Where = lists.Of(v.Where, w.holds)
	passed := w.Taken()
	for _, d := range v.Workspaces {
		passed, e.Behind = append(passed, d.Name), append(e.Behind, w.within(d.Value, 0, 1<<50))
	}
	for _, d := range v.Scalars {
		passed, e.Behind = append(passed, d.Name), append(e.Behind, w.number(d.Value))
	}
	for _, l := range v.Launches {
		e.Launches = append(e.Launches, w.launch(l, passed, &e.MapCount))
	}
	for _, name := range v.Sizes.Names {
		size := pack.Formula{Expr: expr.Variable(name)}
		e.Sizes = append(e.Sizes, w.within(size, math.MinInt32, math.MaxInt32))
	}
	if len(v.Launches) > mostLaunchesInC || len(e.Behind) > mostBehindInC || len(e.Sizes) > mostSizesInC || e.MapCount > mostMapsInC {
		w.fail(fmt.Errorf("it has %d launches, %d workspaces and scalars, %d sizes, and %d tensor maps; %d, %d, %d and %d are the most", len(v.Launches),
			len(e.Behind), len(e.Sizes), e.MapCount, mostLaunchesInC, mostBehindInC, mostSizesInC, mostMapsInC))
	}
	return e
}

// launch is one launch that takes some of what is passed. Behind all that stand 16 words for each tensor map, of which
// the variant has some before this launch's.
func (w *cOperator) launch(l pack.LaunchOf[pack.Formula], passed []string, maps *int) cLaunch {
	three := func(f [3]pack.Formula, most int64) []string {
		return lists.Of(f[:], func(f pack.Formula) string { return "(uint32_t)" + w.within(f, 1, most) })
	}
	made := cLaunch{
		Entry: l.Entry, When: "1", Grid: three(l.Grid, math.MaxInt32), Block: three(l.Block, 1024), Shared: "(uint32_t)" + w.within(l.SharedBytes, 0, 1<<20),
		Cluster: []string{"0"}, Cooperative: l.Cooperative, Dependent: l.Dependent,
	}
	if l.When != nil {
		made.When = w.holds(*l.When)
	}
	if l.Cluster != [3]pack.Formula{} {
		made.Cluster = three(l.Cluster, 16)
	}
	places := lists.Of(l.Arguments, func(name string) int { return slices.Index(passed, name) })
	for _, m := range l.Maps {
		made.Maps = append(made.Maps, cMap{*maps, places[m.At], lists.Of(m.Words, w.number)})
		places[m.At] = len(passed) + 16**maps
		*maps++
	}
	made.Places = lists.Of(places, strconv.Itoa)
	if len(places) > mostArgumentsInC {
		w.fail(fmt.Errorf("a launch takes %d arguments; %d are the most", len(places), mostArgumentsInC))
	}
	return made
}

// newCOperator writes what checks a problem and computes the operator's formulas.
func newCOperator(o *pack.Operator, types map[string]int64) *cOperator {
	w := &cOperator{
		Operator: o, given: slices.Clone(o.Shape), place: map[string]int{}, words: map[string][]string{"math": o.Math},
		truth: map[string]bool{}, reals: map[string]bool{},
	}
	for _, s := range o.Parameters {
		for _, c := range s.Components {
			w.given = append(w.given, c.Name)
			w.truth[c.Name], w.reals[c.Name] = s.Type == "bool", s.Type == "float"
			if s.Type == "word" {
				w.words[c.Name] = s.Words
			}
		}
	}
	for _, name := range append(slices.Clone(w.given), "arch", "math") {
		w.place[name] = len(w.place)
	}
	w.MathPlace, w.ArchPlace, w.TypePlace = w.place["math"], w.place["arch"], -1
	for _, name := range w.given {
		w.Members = append(w.Members, cMember{identifier(name), strings.Join(w.words[name], ", "), w.reals[name]})
	}
	w.checks()
	for _, d := range o.Derived {
		w.Derived = append(w.Derived, cText{len(w.place), d.Name, w.number(d.Value)})
		w.place[d.Name], w.truth[d.Name] = len(w.place), w.isTruth(d.Value.Root())
	}
	for _, r := range o.Requires {
		w.Requires = append(w.Requires, w.because(w.holds(r.That), r.Because))
	}
	deep := false
	for _, s := range o.Tensors {
		t := cTensor{TensorSpec: s, Element: strconv.FormatInt(types[s.Type], 10), Extents: lists.Of(s.Shape, w.number)}
		t.Written, t.Empty = s.Role == "output" || s.Role == "inout", s.Role == "input" || s.Role == "weight"
		if s.TypeBy != "" {
			t.Element, w.TypePlace = "0", w.place[s.TypeBy]
			for at, word := range w.words[s.TypeBy] {
				t.Element = fmt.Sprintf("v[%d] == %d ? %d : %s", w.TypePlace, at, types[word], t.Element)
			}
		}
		w.Tensors, deep = append(w.Tensors, t), deep || len(s.Shape) > mostRankInC
	}
	w.Output = max(0, slices.IndexFunc(o.Tensors, func(s pack.TensorSpec) bool { return s.Role == "output" }))
	if len(w.place) > mostValuesInC || len(o.Tensors) > mostTensorsInC || deep {
		w.fail(fmt.Errorf("it has %d names and %d tensors; %d and %d are the most, and tensors have %d dimensions at most",
			len(w.place), len(o.Tensors), mostValuesInC, mostTensorsInC, mostRankInC))
	}
	return w
}

// checks lists what dimensions and components may be, and then the math mode.
func (w *cOperator) checks() {
	for i, name := range w.Shape {
		place := fmt.Sprintf("v[%d]", i)
		w.Checks = append(w.Checks, cCheck{Must: []cMust{{place + " >= 1", name + " must be at least 1; it is %lld", []string{"(long long)" + place}}}})
	}
	for _, s := range w.Parameters {
		for _, c := range s.Components {
			w.Checks = append(w.Checks, w.check(s, c))
		}
	}
	auto := w.print(w.MathAuto.Root(), w.Math, false)
	w.Checks = append(w.Checks, cCheck{cText: cText{Place: w.MathPlace, Name: "math"}, Default: auto})
}

// check gives a component its default, and its bounds.
func (w *cOperator) check(s pack.Parameter, c pack.Component) cCheck {
	made := cCheck{cText: cText{Place: w.place[c.Name], Name: c.Name}, Missing: c.Name + " must be given"}
	place := fmt.Sprintf("v[%d]", made.Place)
	value, format := "(long long)"+place, "%lld"
	if s.Type == "float" {
		value, format = "real("+place+")", "%g"
	}
	must := func(holds, what string) {
		made.Must = append(made.Must, cMust{holds, quote.Format(c.Name+" must be "+what+"; it is ") + format, []string{value}})
	}
	bound := func(v *expr.Value, sign, what string) {
		if v != nil {
			must(value+" "+sign+" "+w.bound(*v, s.Type == "float"), fmt.Sprintf("%s %s", what, v))
		}
	}
	switch d := c.Default; {
	case d.Expr == nil, s.Type == "float" && d.Root().Op != expr.OpConst: // C's formulas are of integers
	case s.Type == "float":
		made.Default = w.constant(c.Name, d.Root().Value)
	default:
		made.Default = w.print(d.Root(), s.Words, false)
	}
	bound(s.Min, ">=", "at least")
	bound(s.Max, "<=", "at most")
	switch {
	case len(s.Choices) > 0:
		one := lists.Of(s.Choices, func(choice int64) string { return value + " == " + w.bound(expr.Int(choice), false) })
		must(strings.Join(one, " || "), fmt.Sprint("one of ", s.Choices))
	case s.Type == "float":
		must("isfinite("+value+")", "a number")
	case s.Type != "int":
		must(fmt.Sprintf("%s >= 0 && %[1]s < %d", value, max(2, len(s.Words))), "one of its values")
	}
	return made
}

// bound is a number that a component is compared with.
func (w *cOperator) bound(v expr.Value, isReal bool) string {
	if x, isNumber := v.AsFloat(); isNumber && isReal {
		v = expr.Float(x)
	}
	text, err := w.dialect().Constant(v)
	w.fail(err)
	return text
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// because is a condition with its explanation as arguments of printf.
func (w *cOperator) because(holds, text string) cMust {
	made, last := cMust{Holds: holds}, 0
	for _, at := range placeholder.FindAllStringIndex(text, -1) {
		e, err := expr.Parse(text[at[0]+1 : at[1]-1])
		if err != nil {
			continue // it stands as it is
		}
		made.Values = append(made.Values, "(long long)"+w.number(pack.Formula{Expr: e}))
		made.Format += quote.Format(text[last:at[0]]) + "%lld"
		last = at[1]
	}
	made.Format += quote.Format(text[last:])
	return made
}

// identifier changes a name that C reserves.
func identifier(name string) string {
	if slices.Contains(reserved, name) {
		return name + "_"
	}
	return name
}

var reserved = strings.Fields("auto break case char const continue default do double else enum extern float for goto if inline int long register " +
	"restrict return short signed sizeof static struct switch typedef union unsigned void volatile while " +
	"class new delete this template operator private public protected virtual bool true false")
