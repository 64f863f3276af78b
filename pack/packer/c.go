package packer

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/pack"
	"autotune/space/expr"
)

// cTables writes a pack's header and its tables for autotune_pack.c. An operator whose
// formulas have no form in C is left out, and a notice says so.
func cTables(m *pack.Manifest, file func(string) pack.File) (header, tables string, notices []string) {
	t := &cWriter{manifest: m}
	for _, o := range m.Operators {
		w, err := newCOperator(o, m.Types)
		if err != nil {
			notices = append(notices, fmt.Sprintf("%s is left out of what C can call: %v", o.Name, err))
			continue
		}
		t.operators = append(t.operators, w)
	}
	tables, more := t.tables(file)
	return t.header(), tables, append(notices, more...)
}

type cWriter struct {
	manifest  *pack.Manifest
	operators []*cOperator
}

// cOperator is an operator in C. Its values are an array of 64-bit integers, with a place for each name. A word is
// stored as its index among the allowed words, a floating-point number as its bits.
type cOperator struct {
	*pack.Operator
	given []string            // dimensions and components
	place map[string]int      // of all names
	local map[string]string   // the names of a family's kernel, as expressions in C
	truth map[string]bool     // names whose values are true or false
	words map[string][]string // of the names whose values are words
	reals map[string]bool     // names of floating-point values; no formula computes with them
	text  string              // the function that computes it
	depth map[*expr.Node]int  // of formulas, as far as they are known
}

// mostDepth is how deep calls and parentheses of C lie in each other at most; compilers have a limit.
const mostDepth = 250

// deep is how deep a formula is.
func (w *cOperator) deep(n *expr.Node) int {
	if known, ok := w.depth[n]; ok {
		return known
	}
	deepest := 0
	for _, a := range n.Args {
		deepest = max(deepest, w.deep(a))
	}
	w.depth[n] = deepest + 1
	return deepest + 1
}

func newCOperator(o *pack.Operator, types map[string]int64) (w *cOperator, err error) {
	defer notInC(&err)
	w = &cOperator{Operator: o, given: slices.Clone(o.Shape), place: map[string]int{}, words: map[string][]string{"math": o.Math}, truth: map[string]bool{}, reals: map[string]bool{}, depth: map[*expr.Node]int{}}
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
	for _, d := range o.Derived {
		w.place[d.Name], w.truth[d.Name] = len(w.place), w.isTruth(d.Expression.Root())
	}
	deep := slices.ContainsFunc(o.Tensors, func(s pack.TensorSpec) bool { return len(s.Shape) > 8 })
	if len(w.place) > 126 || len(o.Tensors) > 16 || deep {
		return nil, fmt.Errorf("it has %d names and %d tensors; 126 and 16 are the most, and tensors have 8 dimensions at most", len(w.place), len(o.Tensors))
	}
	w.function(types)
	return w, nil
}

// cError says what has no form in C.
type cError string

// notInC turns a panic with a cError into an error.
func notInC(err *error) {
	if fault := recover(); fault != nil {
		what, ok := fault.(cError)
		if !ok {
			panic(fault)
		}
		*err = errors.New(string(what))
	}
}

// binaries and calls write operations in C. Functions of autotune_pack's arithmetic note
// where a result does not fit 64 bits.
var (
	calls = map[expr.Op]string{expr.OpAdd: "add", expr.OpSub: "sub", expr.OpMul: "mul", expr.OpFloorDiv: "floor_div", expr.OpMod: "modulo",
		expr.OpCeilDiv: "ceil_div", expr.OpMin: "least", expr.OpMax: "most", expr.OpGcd: "gcd", expr.OpPow: "power"}
	comparisons = []string{expr.CmpEq: "==", expr.CmpNe: "!=", expr.CmpLt: "<", expr.CmpLe: "<=", expr.CmpGt: ">", expr.CmpGe: ">="}
)

// number writes a formula as an expression of C. A text in it becomes its index in words.
func (w *cOperator) number(n *expr.Node, words []string) string {
	if w.deep(n) > mostDepth {
		panic(cError(fmt.Sprintf("a formula is nested or chained more than %d deep", mostDepth)))
	}
	switch n.Op {
	case expr.OpConst:
		return constant(n.Value, words)
	case expr.OpName:
		if local, known := w.local[n.Name]; known {
			return local
		}
		at, known := w.place[n.Name]
		if !known || w.reals[n.Name] {
			panic(cError("it names " + n.Name))
		}
		return fmt.Sprintf("v[%d]", at)
	case expr.OpCompare:
		return w.comparison(n)
	case expr.OpIf:
		return fmt.Sprintf("(%s ? %s : %s)", w.holds(n.Args[0]), w.number(n.Args[1], words), w.number(n.Args[2], words))
	case expr.OpAnd, expr.OpOr:
		if w.isTruth(n) { // truths are 0 and 1 in C, so && and || give Python's value
			return w.holds(n)
		}
		first, second := n.Args[0], n.Args[1]
		if n.Op == expr.OpOr {
			second, first = first, second
		}
		return fmt.Sprintf("(%s ? %s : %s)", w.holds(n.Args[0]), w.number(second, words), w.number(first, words))
	case expr.OpNot:
		return "!" + w.holds(n.Args[0])
	case expr.OpNeg:
		return fmt.Sprintf("sub(0, %s, bad)", w.number(n.Args[0], nil))
	case expr.OpPlus, expr.OpInt:
		return w.number(n.Args[0], nil)
	case expr.OpBool:
		return "!!" + w.holds(n.Args[0])
	}
	name, known := calls[n.Op]
	if !known {
		panic(cError("it computes " + n.Op.String()))
	}
	text := w.number(n.Args[0], nil)
	for _, a := range n.Args[1:] {
		text = fmt.Sprintf("%s(%s, %s, bad)", name, text, w.number(a, nil))
	}
	return text
}

// holds writes a formula as a condition.
func (w *cOperator) holds(n *expr.Node) string {
	sign, known := map[expr.Op]string{expr.OpAnd: "&&", expr.OpOr: "||"}[n.Op]
	if !known || w.deep(n) > mostDepth {
		return w.number(n, nil)
	}
	return fmt.Sprintf("(%s %s %s)", w.holds(n.Args[0]), sign, w.holds(n.Args[1]))
}

// constant is a value that a name may have.
func (w *cOperator) constant(name string, v expr.Value) string {
	if x, isNumber := v.AsFloat(); w.reals[name] && isNumber {
		return integer(int64(math.Float64bits(x)))
	}
	return constant(v, w.words[name])
}

func constant(v expr.Value, words []string) string {
	if n, ok := v.AsInt(); ok {
		return integer(n)
	}
	if i := slices.Index(words, v.String()); v.Kind() == expr.KindString && i >= 0 {
		return strconv.Itoa(i)
	}
	if v.Kind() == expr.KindString && words != nil {
		return "-1" // the text is not among them
	}
	panic(cError("it has the constant " + v.Source()))
}

// integer is a constant of C. The least has no other form there.
func integer(n int64) string {
	if n == math.MinInt64 {
		return "INT64_MIN"
	}
	return fmt.Sprintf("INT64_C(%d)", n)
}

func (w *cOperator) isTruth(n *expr.Node) bool {
	switch n.Op {
	case expr.OpCompare, expr.OpNot, expr.OpBool:
		return true
	case expr.OpAnd, expr.OpOr:
		return w.isTruth(n.Args[0]) && w.isTruth(n.Args[1])
	case expr.OpName:
		return w.truth[n.Name]
	}
	return false
}

func (w *cOperator) comparison(n *expr.Node) string {
	var words []string
	for _, a := range n.Args {
		if a.Op == expr.OpName && w.words[a.Name] != nil {
			words = w.words[a.Name]
		}
	}
	var parts []string
	for i, c := range n.Cmps {
		left, right := n.Args[i], n.Args[i+1]
		switch {
		case w.isReal(left) || w.isReal(right):
			if int(c) >= len(comparisons) {
				panic(cError("it compares a number of floating point by " + c.String()))
			}
			parts = append(parts, fmt.Sprintf("%s %s %s", w.double(left), comparisons[c], w.double(right)))
		case right.Op == expr.OpTuple:
			items := lists.Of(right.Args, func(a *expr.Node) string { return fmt.Sprintf("(%s == %s)", w.number(left, words), w.number(a, words)) })
			text := "(" + strings.Join(append(items, "0"), " | ") + ")" // | and not ||: Python computes all of them
			if c == expr.CmpNotIn {
				text = "!" + text
			}
			parts = append(parts, text)
		case words != nil && c > expr.CmpNe || int(c) >= len(comparisons):
			panic(cError("it compares texts by " + c.String()))
		default:
			parts = append(parts, fmt.Sprintf("%s %s %s", w.number(left, words), comparisons[c], w.number(right, words)))
		}
	}
	return "(" + strings.Join(parts, " && ") + ")"
}

func (w *cOperator) isReal(n *expr.Node) bool { return n.Op == expr.OpName && w.reals[n.Name] }

// double writes a floating-point number, or what one is compared with.
func (w *cOperator) double(n *expr.Node) string {
	if x, isNumber := n.Value.AsFloat(); n.Op == expr.OpConst && isNumber {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	if w.isReal(n) {
		return fmt.Sprintf("real(v[%d])", w.place[n.Name])
	}
	return "(double)" + w.number(n, nil)
}

// function writes the function that checks a problem and computes all its formulas.
func (w *cOperator) function(types map[string]int64) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "    "+format+"\n", args...) }
	refuse := func(condition, text string, values ...string) {
		line("if (%s) return refuse(why, room, %s);", condition, strings.Join(append([]string{quote.C(text)}, values...), ", "))
	}
	fmt.Fprintf(&b, "static int evaluate_%s(int64_t* v, autotune_shape* t, char* why, size_t room) {\n", w.Name)
	line("int overflow = 0, *bad = &overflow;")
	line("(void)bad;")
	for i, name := range w.Shape {
		refuse(fmt.Sprintf("v[%d] < 1", i), name+" must be at least 1; it is %lld", fmt.Sprintf("(long long)v[%d]", i))
	}
	for _, s := range w.Parameters {
		for _, c := range s.Components {
			w.component(s, c, line, refuse)
		}
	}
	line("if (v[%d] == AUTOTUNE_DEFAULT) v[%[1]d] = %s;", w.place["math"], w.number(w.MathAuto.Root(), w.Math))
	for _, d := range w.Derived {
		line("v[%d] = %s; /* %s */", w.place[d.Name], w.number(d.Expression.Root(), nil), d.Name)
	}
	for _, r := range w.Requires {
		text, values := w.because(r.Because)
		refuse("!"+w.holds(r.That.Root()), text, values...)
	}
	for i, s := range w.Tensors {
		element := strconv.FormatInt(types[s.Type], 10)
		if s.TypeBy != "" {
			element = "0"
			for at, word := range w.words[s.TypeBy] {
				element = fmt.Sprintf("v[%d] == %d ? %d : %s", w.place[s.TypeBy], at, types[word], element)
			}
		}
		line("t[%d].rank = %d, t[%[1]d].element_bytes = %[3]s;", i, len(s.Shape), element)
		for axis, f := range s.Shape {
			line("t[%d].extent[%d] = %s;", i, axis, w.number(f.Root(), nil))
		}
		least := 0
		if s.Role != "input" && s.Role != "weight" {
			least = 1
		}
		refuse(fmt.Sprintf("!fits(&t[%d], %d)", i, least), "the tensor "+s.Name+" would be empty, or too large")
	}
	refuse("overflow", "its sizes do not fit 64 bits")
	b.WriteString("    return 1;\n}\n")
	w.text = b.String()
}

// component writes the code that gives a component its default and checks its bounds.
func (w *cOperator) component(s pack.Parameter, c pack.Component, line func(string, ...any), refuse func(string, string, ...string)) {
	v := fmt.Sprintf("v[%d]", w.place[c.Name])
	switch {
	case c.Default.Expr == nil, s.Type == "float" && c.Default.Root().Op != expr.OpConst: // C's formulas are of integers
		refuse(v+" == AUTOTUNE_DEFAULT", c.Name+" must be given")
	case s.Type == "float":
		line("if (%s == AUTOTUNE_DEFAULT) %[1]s = %s;", v, w.constant(c.Name, c.Default.Root().Value))
	default:
		line("if (%s == AUTOTUNE_DEFAULT) %[1]s = %s;", v, w.number(c.Default.Root(), s.Words))
	}
	check := func(condition, what string) {
		if s.Type == "float" {
			refuse("!("+condition+")", c.Name+" must be "+what+"; it is %g", "real("+v+")")
			return
		}
		refuse("!("+condition+")", c.Name+" must be "+what+"; it is %lld", "(long long)"+v)
	}
	for _, bound := range []struct {
		value      *expr.Value
		sign, what string
	}{{s.Min, ">=", "at least"}, {s.Max, "<=", "at most"}} {
		switch {
		case bound.value == nil:
		case s.Type == "float":
			x, isNumber := bound.value.AsFloat()
			if !isNumber || math.IsNaN(x) || math.IsInf(x, 0) {
				panic(cError(c.Name + " has a bound that is no number"))
			}
			check(fmt.Sprintf("real(%s) %s %s", v, bound.sign, bound.value), fmt.Sprintf("%s %s", bound.what, bound.value))
		default:
			check(fmt.Sprintf("%s %s %s", v, bound.sign, constant(*bound.value, nil)), fmt.Sprintf("%s %s", bound.what, bound.value))
		}
	}
	switch {
	case len(s.Choices) > 0:
		one := lists.Of(s.Choices, func(choice int64) string {
			return v + " == " + strings.NewReplacer("INT64_C(", "", ")", "").Replace(integer(choice))
		})
		check(strings.Join(one, " || "), fmt.Sprint("one of ", s.Choices))
	case s.Type == "float":
		check("isfinite(real("+v+"))", "a number")
	case s.Type != "int":
		check(fmt.Sprintf("%s >= 0 && %[1]s < %d", v, max(2, len(s.Words))), "one of its values")
	}
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// because writes a requirement's explanation as arguments of printf.
func (w *cOperator) because(text string) (string, []string) {
	var values []string
	format, last := "", 0
	for _, at := range placeholder.FindAllStringIndex(text, -1) {
		e, err := expr.Parse(text[at[0]+1 : at[1]-1])
		if err != nil {
			continue // it stands as it is
		}
		values = append(values, "(long long)"+w.number(e.Root(), nil))
		format += quote.Format(text[last:at[0]]) + "%lld"
		last = at[1]
	}
	return format + quote.Format(text[last:]), values
}

// header declares a problem and two functions an operator.
func (t *cWriter) header() string {
	var b strings.Builder
	name := t.manifest.Name
	fmt.Fprintf(&b, "/* %s.h: the operators of a pack. autotune_pack.h tells how they are used. */\n", name)
	fmt.Fprintf(&b, "#ifndef AUTOTUNE_PACK_%[1]s_H\n#define AUTOTUNE_PACK_%[1]s_H\n\n#include \"autotune_pack.h\"\n\n", strings.ToUpper(name))
	fmt.Fprintf(&b, "#ifdef __cplusplus\nextern \"C\"\n#else\nextern\n#endif\nconst autotune_tables %s_tables;\n", name)
	for i, o := range t.operators {
		fmt.Fprintf(&b, "\n/* %s\n * Tensors: ", quote.CComment(o.Summary))
		var parameters, passed []string
		for _, s := range o.Tensors {
			kind := "const void* "
			if s.Role == "output" || s.Role == "inout" {
				kind = "void* "
			}
			parameters, passed = append(parameters, kind+s.Name+"_"), append(passed, "(void*)"+s.Name+"_")
		}
		fmt.Fprintf(&b, "%s. */\ntypedef struct {\n", strings.ReplaceAll(strings.Join(passed, ", "), "(void*)", ""))
		for _, name := range o.given {
			kind := "int64_t"
			if o.reals[name] {
				kind = "double"
			}
			fmt.Fprintf(&b, "    %s %s;", kind, identifier(name))
			if words := o.words[name]; words != nil {
				fmt.Fprintf(&b, " /* the place among %s */", quote.CComment(strings.Join(words, ", ")))
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "} autotune_%s_problem;\n#define AUTOTUNE_%s_PROBLEM {%s}\n\n", o.Name, strings.ToUpper(o.Name), strings.Join(o.defaults(), ", "))
		fmt.Fprintf(&b, "static inline int autotune_plan_%s(autotune_pack* pack, autotune_%[1]s_problem problem, const char* math, autotune_plan** plan) {\n", o.Name)
		fmt.Fprintf(&b, "    return autotune_plan_of(pack, %d, (const int64_t*)&problem, math, plan);\n}\n", i)
		fmt.Fprintf(&b, "static inline int autotune_%s(autotune_pack* pack, autotune_%[1]s_problem problem, const char* math,\n    %s, void* workspace, void* stream) {\n",
			o.Name, strings.Join(parameters, ", "))
		fmt.Fprintf(&b, "    autotune_plan* plan;\n    void* tensors[] = {%s};\n", strings.Join(passed, ", "))
		fmt.Fprintf(&b, "    int failed = autotune_plan_%s(pack, problem, math, &plan);\n    return failed ? failed : autotune_launch(plan, tensors, workspace, stream);\n}\n", o.Name)
	}
	b.WriteString("#endif\n")
	return b.String()
}

// defaults initialises a problem's members so that they mean the operator's defaults. -0.0 has the
// bits of AUTOTUNE_DEFAULT.
func (w *cOperator) defaults() (all []string) {
	for _, name := range w.given {
		if w.reals[name] {
			all = append(all, "-0.0")
		} else {
			all = append(all, "AUTOTUNE_DEFAULT")
		}
	}
	return all
}

// identifier changes a name that C reserves.
func identifier(name string) string {
	if slices.Contains(strings.Fields("auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while class new delete this template operator private public protected virtual bool true false"), name) {
		return name + "_"
	}
	return name
}

// tables writes the pack's entries and its operators' functions.
func (t *cWriter) tables(file func(string) pack.File) (text string, notices []string) {
	var b strings.Builder
	m := t.manifest
	fmt.Fprintf(&b, "/* %s.c: the tables of a pack, for autotune_pack.c. */\n#include \"%[1]s.h\"\n\n#include <math.h>\n#include <stdarg.h>\n#include <stdio.h>\n#include <string.h>\n%s", m.Name, arithmetic)
	var files, entries, families, generals, operators []string
	place := func(path string) int {
		row := fmt.Sprintf("{%s, INT64_C(%d), %s}", quote.C(path), file(path).Bytes, quote.C(file(path).SHA256))
		if !slices.Contains(files, row) {
			files = append(files, row)
		}
		return slices.Index(files, row)
	}
	for operation, o := range t.operators {
		b.WriteString(o.text + "\n")
		output, kind := max(0, slices.IndexFunc(o.Tensors, func(s pack.TensorSpec) bool { return s.Role == "output" })), -1
		var symbols []string
		for _, s := range o.Tensors {
			symbols = append(symbols, "NULL")
			if s.Symbol != "" {
				symbols[len(symbols)-1] = quote.C(s.Symbol)
			}
			if s.TypeBy != "" {
				kind = o.place[s.TypeBy]
			}
		}
		fmt.Fprintf(&b, "static const char *const modes_%d[] = {%s}, *const symbols_%[1]d[] = {%[3]s};\n", operation, quoted(o.Math), strings.Join(symbols, ", "))
		operators = append(operators, fmt.Sprintf("{%s, %d, %d, %d, %d, %d, %d, %d, %d, modes_%d, evaluate_%s, symbols_%[10]d}", quote.C(o.Name), len(o.given),
			len(o.place), o.place["math"], o.place["arch"], kind, len(o.Tensors), output, len(o.Math), operation, o.Name))
		for _, e := range m.Entries {
			if e.Operator != o.Name {
				continue
			}
			text, row, err := t.entry(o, operation, len(entries), e, place)
			if err != nil {
				notices = append(notices, fmt.Sprintf("%s is left out of what C can call: %v", e.Problem, err))
				continue
			}
			b.WriteString(text)
			entries = append(entries, row)
		}
		for _, f := range m.Families {
			if f.Operator != o.Name {
				continue
			}
			text, row, err := o.family(f, operation, len(families), place)
			if err != nil {
				notices = append(notices, fmt.Sprintf("%s is left out of what C can call: %v", f.Problem, err))
				continue
			}
			b.WriteString(text)
			families = append(families, row)
		}
		for _, g := range m.General {
			if g.Operator != o.Name {
				continue
			}
			sizes := lists.Of(g.Sizes, func(name string) string { return strconv.Itoa(o.place[name]) })
			kind := 0
			if by := o.Tensors[0].TypeBy; by != "" {
				kind = slices.Index(o.words[by], g.Type)
			}
			at, value := -1, "0"
			for name, v := range g.Values { // one at most
				at, value = o.place[name], o.constant(name, v)
			}
			fmt.Fprintf(&b, "static const int sizes_%d[] = {%s};\n", len(generals), strings.Join(sizes, ", "))
			generals = append(generals, fmt.Sprintf("{%d, %d, %d, %s, %d, %d, %d, %s, sizes_%d}", operation, slices.Index(o.Math, g.Math), at, value, kind,
				place(g.File), len(sizes), quote.C(g.Entry), len(generals)))
		}
	}
	for _, table := range []struct {
		kind string
		rows []string
	}{{"file", files}, {"entry", entries}, {"family", families}, {"general", generals}, {"operation", operators}} {
		fmt.Fprintf(&b, "static const autotune_%s all_%[1]s[] = {\n    %s\n};\n", table.kind, strings.Join(append(table.rows, "{0}"), ",\n    "))
	}
	fmt.Fprintf(&b, "const autotune_tables %s_tables = {%d, %d, %d, %d, all_file, all_entry, all_family, all_general, all_operation};\n",
		m.Name, len(files), len(entries), len(families), len(generals))
	return b.String(), notices
}

// entry writes the tables that an entry's row points to, and returns the row.
func (t *cWriter) entry(o *cOperator, operation, number int, e *pack.Entry, place func(string) int) (text, row string, err error) {
	defer notInC(&err)
	b := &strings.Builder{}
	var sizes, steps []string
	names := o.Taken()
	values := lists.Of(o.given, func(name string) string { return o.constant(name, e.Values[name]) })
	for _, w := range e.Workspaces {
		names, sizes = append(names, w.Name), append(sizes, strconv.FormatInt(w.Bytes, 10))
	}
	for _, s := range e.Scalars {
		names, sizes = append(names, s.Name), append(sizes, fmt.Sprintf("(int64_t)0x%xu", uint64(s.Bits)))
	}
	fmt.Fprintf(b, "static const int64_t values_%d[] = {%s}, workspaces_%[1]d[] = {%[3]s};\n", number, strings.Join(values, ", "), strings.Join(append(sizes, "0"), ", "))
	var maps []string
	for i, l := range e.Launches {
		mustTake(l.Arguments)
		places, tensors := placesIn(names, l.Arguments, l.Maps, len(maps))
		for at, m := range l.Maps {
			words := lists.Of(m.Words, func(word int64) string { return fmt.Sprintf("(int64_t)0x%xu", uint64(word)) })
			maps = append(maps, fmt.Sprintf("{%d, {%s}}", tensors[at], strings.Join(words, ", ")))
		}
		fmt.Fprintf(b, "static const int arguments_%d_%d[] = {%s};\n", number, i, places)
		steps = append(steps, fmt.Sprintf("{%s, %s, %s, %d, %s, %d, %d, %d, arguments_%d_%d}", quote.C(l.Entry), braces(l.Grid), braces(l.Block),
			l.SharedBytes, braces(l.Cluster), truth(l.Cooperative), truth(l.Dependent), len(l.Arguments), number, i))
	}
	fmt.Fprintf(b, "static const autotune_step steps_%d[] = {\n    %s\n};\n", number, strings.Join(steps, ",\n    "))
	fmt.Fprintf(b, "static const autotune_map maps_%d[] = {%s};\n", number, strings.Join(append(maps, "{0}"), ", "))
	arch, own := targetInC(e.Target)
	row = fmt.Sprintf("{%d, %d, %d, %s, %d, %d, %d, %d, %d, %d, %d, %s, values_%d, steps_%[13]d, workspaces_%[13]d, maps_%[13]d}", operation, slices.Index(o.Math, e.Math),
		truth(e.Auto), arch, own, truth(e.Time != nil), place(e.File), len(steps), len(e.Workspaces), len(e.Scalars), len(maps), quote.C(e.Device), number)
	return b.String(), row, nil
}

// targetInC is an architecture's number, and 1 if its code runs on no later one.
func targetInC(target string) (arch string, own int) {
	digits := strings.TrimPrefix(target, "sm_")
	arch = strings.TrimRight(digits, "abcdefghijklmnopqrstuvwxyz")
	if _, err := strconv.ParseUint(arch, 10, 31); err != nil {
		panic(cError(fmt.Sprintf("%.40q is no architecture", target)))
	}
	return arch, truth(arch != digits)
}

// mostArguments is how many arguments a launch in C takes: MOST_ARGUMENTS in autotune_pack.c, without the sizes.
const mostArguments = 46

func mustTake(arguments []string) {
	if len(arguments) > mostArguments {
		panic(cError(fmt.Sprintf("a launch takes %d arguments; %d are the most", len(arguments), mostArguments)))
	}
}

func quoted(words []string) string { return strings.Join(lists.Of(words, quote.C), ", ") }

// placesIn writes the places of a launch's arguments: their indexes in a list of names and, behind all of these, 16 for
// each tensor map, where so many were before. It also gives the indexes of the maps' tensors.
func placesIn[Word any](list, names []string, maps []pack.TensorMap[Word], before int) (text string, tensors []int) {
	places := lists.Of(names, func(name string) int { return slices.Index(list, name) })
	for i, m := range maps {
		tensors = append(tensors, places[m.At])
		places[m.At] = len(list) + 16*(before+i)
	}
	return strings.Join(lists.Of(places, strconv.Itoa), ", "), tensors
}

func braces(e [3]int64) string { return fmt.Sprintf("{%d, %d, %d}", e[0], e[1], e[2]) }

func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}
