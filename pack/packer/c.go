package packer

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"maps"
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
	"quote": quote.C, "comment": quote.CComment, "upper": strings.ToUpper, "python": quote.Python, "identifier": identifier,
	"join": func(texts []string) string { return strings.Join(texts, ", ") },
	"truth": func(of any) int {
		if is, _ := template.IsTrue(of); is {
			return 1
		}
		return 0
	},
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

// cPack is a pack in C. Its templates call the methods of what it has.
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

// cFamily is a family, or an entry as a family of one problem. Node is the part of the tree that is written.
type cFamily struct {
	pack.Tuned
	W               *cOperator
	Number, Arch    int
	Range           [][]pack.Span
	Measured, Exact bool
	Own             bool
	Node            *pack.Node

	kernels func() []cVariant
}

// cVariant is a kernel of a family, with its numbers as expressions in C, by whose names formulas are written.
type cVariant struct {
	*cOperator
	pack.Code[string]
	Define []pack.Definition
	Where  []pack.Formula
	Sizes  pack.Sizes
	passed []string // what a launch may take
}

// cGeneral is a general kernel: the place of the one value that it is made for, or -1, that value, and its type's place.
type cGeneral struct {
	*pack.General
	W        *cOperator
	At, Kind int
	Value    string
	Takes    []string // places of tensors
	Sizes    []string
}

// cMust is a condition, and arguments of printf that say what it asks for.
type cMust struct {
	Holds, Format string
	Values        []string
}

// cFiles are a pack's header and tables for autotune_pack.c. An operator or a kernel whose formulas have no form in C is
// left out, and a notice says so.
func cFiles(m *pack.Manifest, contents func(file string) []byte) (header, tables []byte, notices []string) {
	c := &cPack{Manifest: m, contents: contents}
	for _, o := range m.Operators {
		w := newCOperator(o, m.Types)
		w.pack, w.Index = c, len(c.Operators)
		if !c.takes(o.Name, w, "operator", w) {
			continue
		}
		c.Operators = append(c.Operators, w)
		for _, e := range m.Entries {
			if e.Operator == o.Name {
				c.add(w.entry(e))
			}
		}
		for _, f := range m.Families {
			if f.Operator == o.Name {
				c.add(w.family(f))
			}
		}
		for _, g := range m.General {
			if g.Operator == o.Name {
				c.General = append(c.General, w.general(g))
			}
		}
	}
	return write("pack.h.tmpl", c), write("pack.c.tmpl", c), c.notices
}

// takes tells whether a template can write something of an operator.
func (c *cPack) takes(what string, w *cOperator, template string, data any) bool {
	write(template, data)
	fault := *w.fault
	if *w.fault = nil; fault != nil {
		c.notices = append(c.notices, fmt.Sprintf("%s is left out of what C can call: %v", what, fault))
	}
	return fault == nil
}

func (c *cPack) add(row cFamily) {
	var ok bool
	if row.Arch, row.Own, ok = pack.Target(row.Target); !ok {
		row.W.fail(fmt.Errorf("%.40q is no architecture", row.Target))
	}
	if row.Number = len(c.Families); c.takes(row.Problem, row.W, "family", row) {
		c.Families = append(c.Families, row)
	}
}

func (w *cOperator) entry(e *pack.Entry) cFamily {
	row := cFamily{Tuned: e.Tuned, W: w, Measured: e.Time != nil, Exact: true, Node: &pack.Node{Entries: []int{0}}}
	for _, name := range w.Shape {
		n, _ := e.Values[name].AsInt()
		row.Range = append(row.Range, []pack.Span{{n, n}})
	}
	row.kernels = func() []cVariant {
		code := pack.Map(e.Code, func(n, _, _ int64) string { return w.literal(expr.Int(n)) })
		return []cVariant{w.variant(cVariant{Code: code}, nil)}
	}
	return row
}

func (w *cOperator) family(f *pack.Family) cFamily {
	row := cFamily{Tuned: f.Tuned, W: w, Range: f.Range, Measured: f.Regret != nil, Node: f.Tree}
	row.kernels = func() []cVariant {
		return lists.Of(f.Variants, func(v *pack.Variant) cVariant {
			return w.variant(cVariant{Define: v.Define, Where: v.Where, Sizes: v.Sizes}, &v.Code)
		})
	}
	return row
}

// Kernels are those of the family.
func (f cFamily) Kernels() []cVariant { return f.kernels() }

// variant gives a kernel the names of its own, and then the code that formulas describe.
func (w *cOperator) variant(e cVariant, code *pack.Code[pack.Formula]) cVariant {
	own := *w
	own.local, own.truth = map[string]string{}, maps.Clone(w.truth)
	for i, d := range e.Define {
		own.local[d.Name], own.truth[d.Name] = fmt.Sprint("d", i), own.isTruth(d.Value.Root())
	}
	if e.cOperator = &own; code != nil {
		e.Code = pack.Map(*code, own.within)
	}
	e.passed = w.Taken()
	for _, d := range slices.Concat(e.Workspaces, e.Scalars) {
		e.passed = append(e.passed, d.Name)
	}
	behind, sizes := len(e.passed)-len(w.Tensors), len(e.Sizes.Names)
	if len(e.Launches) > mostLaunchesInC || behind > mostBehindInC || sizes > mostSizesInC || e.Maps() > mostMapsInC {
		w.fail(fmt.Errorf("it has %d launches, %d workspaces and scalars, %d sizes, and %d tensor maps; %d, %d, %d and %d are the most",
			len(e.Launches), behind, sizes, e.Maps(), mostLaunchesInC, mostBehindInC, mostSizesInC, mostMapsInC))
	}
	return e
}

// Branch is the family with another part of its tree to write.
func (f cFamily) Branch(n *pack.Node) cFamily {
	f.Node = n
	return f
}

// Has are conditions: the problem is in the family's range and has its parameters.
func (f cFamily) Has() (all []string) {
	for i, spans := range f.Range {
		in := lists.Of(spans, func(s pack.Span) string {
			return fmt.Sprintf("(v[%d] >= INT64_C(%d) && v[%[1]d] <= INT64_C(%[3]d))", i, s[0], s[1])
		})
		all = append(all, "("+strings.Join(append(in, "0"), " || ")+")")
	}
	for _, name := range f.W.Given[len(f.W.Shape):] {
		all = append(all, fmt.Sprintf("v[%d] == %s", f.W.place[name], f.W.constant(name, f.Values[name])))
	}
	return all
}

// Maps is how many tensor maps the kernel's launches pass.
func (e cVariant) Maps() int { return e.MapPlace(len(e.Launches), 0) }

// MapPlace is the place of a launch's tensor map among all of them.
func (e cVariant) MapPlace(launch, at int) int {
	for _, l := range e.Launches[:launch] {
		at += len(l.Maps)
	}
	return at
}

// Passed is the place of an argument among what a launch may take.
func (e cVariant) Passed(arguments []string, at int) int {
	return slices.Index(e.passed, arguments[at])
}

// Places are those of a launch's arguments. Behind all that it may take stand 16 words for each tensor map.
func (e cVariant) Places(launch int) []string {
	l := e.Launches[launch]
	if len(l.Arguments) > mostArgumentsInC {
		e.fail(fmt.Errorf("a launch takes %d arguments; %d are the most", len(l.Arguments), mostArgumentsInC))
	}
	places := lists.Of(l.Arguments, func(name string) string { return strconv.Itoa(slices.Index(e.passed, name)) })
	for i, m := range l.Maps {
		places[m.At] = strconv.Itoa(len(e.passed) + 16*e.MapPlace(launch, i))
	}
	return places
}

// Named is the value of a name.
func (e cVariant) Named(name string) string {
	return e.Integer(pack.Formula{Expr: expr.Variable(name)})
}

func (w *cOperator) general(g *pack.General) cGeneral {
	made := cGeneral{General: g, W: w, At: -1, Value: "0"}
	if by := w.Tensors[0].TypeBy; by != "" {
		made.Kind = slices.Index(w.words[by], g.Type)
	}
	for name, v := range g.Values { // one at most
		made.At, made.Value = w.place[name], w.constant(name, v)
	}
	made.Takes = lists.Of(g.Arguments, func(name string) string { return strconv.Itoa(slices.Index(w.Taken(), name)) })
	made.Sizes = lists.Of(g.Sizes, func(name string) string { return strconv.Itoa(w.place[name]) })
	return made
}

// File is the place of a file among those that kernels need.
func (w *cOperator) File(path string) int {
	c := w.pack
	at := slices.IndexFunc(c.Files, func(f cFile) bool { return f.Path == path })
	if at < 0 {
		data, sum := c.contents(path), fnv.New64a()
		sum.Write(data)
		at, c.Files = len(c.Files), append(c.Files, cFile{path, len(data), sum.Sum64()})
	}
	return at
}

// Default is a component's default; "" where it must be given.
func (w *cOperator) Default(s pack.Parameter, c pack.Component) string {
	switch d := c.Default; {
	case d.Expr == nil, s.Type == "float" && d.Root().Op != expr.OpConst: // C's formulas are of integers
		return ""
	case s.Type == "float":
		return w.constant(c.Name, d.Root().Value)
	default:
		return w.text(d.Root(), s.Words, false)
	}
}

// Bounds are what a component must be.
func (w *cOperator) Bounds(s pack.Parameter, c pack.Component) (all []cMust) {
	value, format := fmt.Sprintf("(long long)v[%d]", w.place[c.Name]), "%lld"
	if s.Type == "float" {
		value, format = fmt.Sprintf("real(v[%d])", w.place[c.Name]), "%g"
	}
	must := func(holds, what string) {
		all = append(all, cMust{holds, quote.Format(c.Name+" must be "+what+"; it is ") + format, []string{value}})
	}
	number := func(v expr.Value) string {
		if x, isNumber := v.AsFloat(); isNumber && s.Type == "float" {
			v = expr.Float(x)
		}
		return w.literal(v)
	}
	if s.Min != nil {
		must(value+" >= "+number(*s.Min), "at least "+s.Min.String())
	}
	if s.Max != nil {
		must(value+" <= "+number(*s.Max), "at most "+s.Max.String())
	}
	switch {
	case len(s.Choices) > 0:
		one := lists.Of(s.Choices, func(choice int64) string { return value + " == " + number(expr.Int(choice)) })
		must(strings.Join(one, " || "), fmt.Sprint("one of ", s.Choices))
	case s.Type == "float":
		must("isfinite("+value+")", "a number")
	case s.Type != "int":
		must(fmt.Sprintf("%s >= 0 && %[1]s < %d", value, max(2, len(s.Words))), "one of its values")
	}
	return all
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// Because is a requirement, with its explanation as arguments of printf.
func (w *cOperator) Because(r pack.Requirement) cMust {
	made, last := cMust{Holds: w.Holds(r.That)}, 0
	for _, at := range placeholder.FindAllStringIndex(r.Because, -1) {
		e, err := expr.Parse(r.Because[at[0]+1 : at[1]-1])
		if err != nil {
			continue // it stands as it is
		}
		made.Values = append(made.Values, "(long long)"+w.Integer(pack.Formula{Expr: e}))
		made.Format += quote.Format(r.Because[last:at[0]]) + "%lld"
		last = at[1]
	}
	made.Format += quote.Format(r.Because[last:])
	return made
}

// Element is how many bytes an element of a tensor has.
func (w *cOperator) Element(s pack.TensorSpec) string {
	text := strconv.FormatInt(w.types[s.Type], 10)
	for at, word := range w.words[s.TypeBy] {
		text = fmt.Sprintf("v[%d] == %d ? %d : %s", w.place[s.TypeBy], at, w.types[word], text)
	}
	return text
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
