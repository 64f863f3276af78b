package operator

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"autotune/space/expr"
)

// MathVariant is a math mode whose kernels are those of another mode, but for headers.
// What the other mode's kernels and macros are stays as it is.
type MathVariant struct {
	Of      string
	Headers map[string]Source // by the name that kernels include
}

// AutoMath tells whether a mode that is asked for is the one that op.yaml's rule, or
// PyTorch, chooses.
func AutoMath(asked string) bool { return asked == "" || asked == "auto" }

// math reads the math modes. Which of them `auto` means is settled before
// derived values are known.
func (l *loader) math(n ast.Node, names scope) {
	f := l.fields(n, "math")
	modes := func(n ast.Node) []string { return l.names(n, "modes", func(ast.Node, string) {}) }
	l.o.MathModes = optional(f["modes"], modes, []string{"fp32"})
	l.o.MathAuto = optional(f["auto"], l.over(names.withLimits()), constant("'fp32'"))
	if f["auto"] == nil && !slices.Contains(l.o.MathModes, "fp32") {
		l.fail(at(n), "math needs `auto`: an expression that gives one of %s", strings.Join(l.o.MathModes, ", "))
	}
	l.o.MathVariants = optional(f["variants"], l.mathVariants, nil)
	l.o.MathAsk = pointer(f["ask"], func(n ast.Node) Source {
		s := Source{File: l.text(n)}
		s.Text, _ = l.shared(n, s.File)
		for _, part := range []string{"def ask", "def part", "FACTORS"} {
			l.mustDefine(n, s, part, `(?m)^`+part+`\b`, "docs/writing-an-operator.md says what such a file defines")
		}
		return s
	})
}

const headersForm = "headers must be a mapping of names that kernels include to files"

func (l *loader) mathVariants(n ast.Node) map[string]MathVariant {
	variants := map[string]MathVariant{}
	for _, e := range l.entries(n, "variants must be a mapping of modes to descriptions") {
		if !slices.Contains(l.o.MathModes, e.key) {
			l.failHint(e.Position, nearestOrAll(e.key, "there are", l.o.MathModes), "there is no math mode `%s`", e.key)
		}
		f := l.fields(e.value, "a variant")
		v := MathVariant{Of: l.oneOf(f["of"], "math mode", l.o.MathModes...), Headers: map[string]Source{}}
		for _, header := range l.entries(f["headers"], headersForm) {
			s := Source{File: l.text(header.value), Includes: map[string]string{}}
			text, from := l.shared(header.value, s.File)
			s.Text = text
			l.includes(from, text, s.Includes, l.include)
			v.Headers[header.key] = s
		}
		variants[e.key] = v
	}
	for _, e := range l.entries(n, "") {
		if _, too := variants[variants[e.key].Of]; too {
			l.fail(e.Position, "`%s` is a variant of `%s`, which is one itself", e.key, variants[e.key].Of)
		}
	}
	return variants
}

// shared reads a file of the operator's folder, or else of the shared one.
func (l *loader) shared(n ast.Node, name string) (text, from string) {
	if !fileForm.MatchString(name) {
		l.refuse(n, "this must name a file in the operator's folder or the shared one")
	}
	text, from, err := l.include(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		l.fail(at(n), "the file `%s` is neither in the operator's folder nor a shared one", name)
	} else if err != nil {
		l.fail(at(n), "the file `%s` %v", name, err)
	}
	return text, from
}

// math settles the math mode.
func (b binder) math(asked string) {
	b.Math = asked
	if AutoMath(asked) {
		v, err := b.Operator.MathAuto.code.Eval(b.constants())
		if err != nil {
			b.fail("", "the math mode for auto, %s: %v", b.Operator.MathAuto, err)
		}
		b.Math = v.String()
	}
	if modes := b.Operator.MathModes; !slices.Contains(modes, b.Math) {
		b.fail("it has "+strings.Join(modes, ", "), "there is no math mode `%s`", b.Math)
	}
	b.Values["math"] = expr.String(b.Math)
}

// MathMacros are the macros that tell a kernel its math mode, where there is more
// than one. A variant's are those of the mode that it is one of.
func (p *Problem) MathMacros() []Macro {
	var macros []Macro
	for _, mode := range p.Operator.MathModes {
		if _, variant := p.Operator.MathVariants[mode]; !variant && mode != "fp32" && len(p.Operator.MathModes) > 1 {
			is := mode == p.Math || mode == p.Operator.MathVariants[p.Math].Of
			macros = append(macros, Macro{"MATH_" + strings.ToUpper(mode), macroValue(expr.Bool(is))})
		}
	}
	return macros
}

// Includes are the files that a source includes in the problem's math mode, by name.
func (p *Problem) Includes(s Source) map[string]string {
	includes := maps.Clone(s.Includes)
	for name, header := range p.Operator.MathVariants[p.Math].Headers {
		if _, used := includes[name]; used {
			maps.Copy(includes, header.Includes)
			includes[name] = header.Text
		}
	}
	return includes
}
