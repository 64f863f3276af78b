package operator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space/expr"
)

// A parameter of type expression is a function that the user writes, such as "gelu(x*w + b)". Kernels get the user's
// function as a C++ macro, and one of the operator's files defines the functions that the macro calls. The text of the
// user is never copied into code, but parsed, checked, and written anew.

// The constants chainLength and chainDepth limit the size of an expression.
const (
	chainLength = 1000 // characters
	chainDepth  = 40   // operations within each other
)

// chooses is the name of the only function in expressions whose first argument is a comparison: where(x > 0, x, 0).
const chooses = "where"

// parsedChain is a parsed expression, with an epilogue's tensors in the order in which the expression first names them.
type parsedChain struct {
	root     *expr.Node
	operands []operand
	items    []string // what the expression calls the operands
}

func (s *ParameterSpec) chain(text string) (c parsedChain, err error) {
	if len(text) > chainLength {
		return c, fmt.Errorf("`%s` has %d characters; it may have %d", s.Name, len(text), chainLength)
	}
	c.root, err = expr.ParseCalls(text, s.Functions)
	if err == nil {
		err = s.holds(c.root, chainDepth)
	}
	if err == nil {
		c.operands, c.items, err = s.operands(c.root)
	}
	if err != nil {
		return c, fmt.Errorf("`%s`: %w", s.Name, err)
	}
	return c, nil
}

// holds checks that an expression contains only numbers, arithmetic, and the parameter's names and functions.
func (s *ParameterSpec) holds(n *expr.Node, depth int) error {
	switch n.Op {
	case expr.OpConst:
		if x, ok := n.Value.AsFloat(); !ok || n.Value.Kind() == expr.KindBool || math.IsInf(float64(float32(x)), 0) {
			return fmt.Errorf("column %d: %s is no number that a float holds", n.Column, n.Source())
		}
	case expr.OpName:
		if err := s.knows(n.Name); err != nil {
			return fmt.Errorf("column %d: %w", n.Column, err)
		}
	case expr.OpAdd, expr.OpSub, expr.OpMul, expr.OpDiv, expr.OpNeg, expr.OpPlus, expr.OpCall:
	case expr.OpCompare:
		if _, known := s.Functions[chooses]; known {
			return fmt.Errorf("column %d: a comparison stands only in %s(), as %[2]s(x > 0, x, 0)", n.Column, chooses)
		}
		fallthrough
	default:
		return fmt.Errorf("column %d: %s is unknown here: there are + - * / and functions", n.Column, cmp.Or(n.Op.String(), "a comparison"))
	}
	if depth == 0 {
		return fmt.Errorf("column %d: more than %d operations within each other", n.Column, chainDepth)
	}
	operands := n.Args
	if n.Op == expr.OpCall && n.Name == chooses {
		c := n.Args[0]
		if c.Op != expr.OpCompare || len(c.Links) > 1 || c.Links[0] >= expr.OpIn {
			return fmt.Errorf("column %d: %s() chooses by a comparison of two numbers, as %[2]s(x > 0, x, 0)",
				n.Column, chooses)
		}
		operands = slices.Concat(c.Args, n.Args[1:])
	}
	for _, a := range operands {
		if err := s.holds(a, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// readChain returns the values of the parameter's components: the expression in canonical form, and for each declared
// name whether the expression contains it.
func (s *ParameterSpec) readChain(text string) ([]expr.Value, error) {
	c, err := s.chain(text)
	if err != nil {
		return nil, err
	}
	values := []expr.Value{expr.String(strings.ReplaceAll(c.root.Source(), " ", ""))}
	names := c.root.Names()
	values = append(values, lists.Of(s.Of, func(name string) expr.Value { return expr.Bool(slices.Contains(names, name)) })...)
	return values, nil
}

// chainComponents returns the names by which formulas refer to the components of a parameter of type expression.
func (s *ParameterSpec) chainComponents() []string {
	names := []string{s.Name}
	names = append(names, lists.Of(s.Of, func(name string) string { return s.Name + "_" + name })...)
	return names
}

// CUDA writes an expression, which is the value of a parameter, in C++, where all numbers are floats. The method CUDA
// accepts only an expression that readChain has checked.
func (s *ParameterSpec) CUDA(value string) string {
	return s.written(value, expr.CPP, func(_ operand, i int) string { return fmt.Sprint("t", i) })
}

// Python writes an expression, which is the value of a parameter, in Python, where functions are methods of object.
func (s *ParameterSpec) Python(value, object string) string {
	return s.written(value, expr.Methods(object), func(t operand, _ int) string {
		text := t.name
		for axis := range s.Axes {
			if len(t.axes) > 0 && !slices.Contains(t.axes, axis) && !s.isImage(t) {
				text += fmt.Sprintf(".unsqueeze(%d)", axis) // so that the tensor is broadcast along this axis
			}
		}
		return text
	})
}

// ExpressionMacros returns the macros of the parameters of type expression that the problem does not leave out.
func (p *Problem) ExpressionMacros() []Macro {
	var macros []Macro
	for _, spec := range p.Operator.Parameters {
		if spec.Type == ExpressionParameter && p.Parameters.has(spec.Name) {
			macros = append(macros, Macro{p.Operator.Macros.Macro(spec.Name), spec.CUDA(p.Values[spec.Name].String())})
			macros = append(macros, p.epilogueMacros(&spec)...)
		}
	}
	return macros
}

// written writes an expression in a language such as C++; its argument named returns the name that a tensor of an
// epilogue has in this language.
func (s *ParameterSpec) written(value string, in expr.Dialect, named func(t operand, i int) string) string {
	c, err := s.chain(value)
	if err != nil {
		return value // no problem has such a value
	}
	in.Name = func(name string) string {
		if i := slices.Index(c.items, name); i >= 0 {
			return named(c.operands[i], i)
		}
		return name
	}
	text, err := in.Print(c.root)
	if err != nil {
		panic(err) // chain accepts only operations that all dialects have
	}
	return text
}

// chains reads the description of a parameter of type expression from op.yaml.
func (l *loader) chains(s *ParameterSpec, f tree.Fields, whole *tree.Node) {
	f.None("an expression has names and functions", "range")
	for _, key := range []string{"choices", "functions"} {
		if f[key] == nil {
			whole.RefuseHint("as choices: [x], functions: {relu: [1]}", "`%s` has no `%s`, which a parameter of expressions needs", s.Name, key)
			return
		}
	}
	s.Axes = tree.Optional(f["axes"], func(n *tree.Node) []string { return l.names(n, "axes") }, nil)
	s.Of, s.Functions = l.names(f["choices"], "choices"), map[string]expr.Arity{}
	for _, e := range l.named(f["functions"], "functions must be a mapping of names to numbers of arguments") {
		counts := list(l.language, e.Value, "functions", (*tree.Node).Int)
		least, most := slices.Min(append(counts, math.MaxInt32)), slices.Max(append(counts, 0))
		if least < 1 || most > 8 {
			e.Value.RefuseHint("as [1] or [1, 2]", "a function has 1 to 8 arguments")
		}
		s.Functions[e.Key] = expr.Arity{Least: int(least), Most: int(most)}
	}
	s.Names = s.chainComponents()
	s.Default = tree.Pointer(f["default"], func(n *tree.Node) Formula {
		text := n.Text()
		if _, err := s.chain(text); err != nil {
			n.Refuse("%v", err)
			return constant("0")
		}
		return Formula{Text: text, Position: n.Position, code: expr.MustParse(expr.String(text).Source())}
	})
}
