package t1

import (
	"fmt"
	"strings"

	"autotune/space/expr"
)

// dialect is a language that expressions are written in.
type dialect struct {
	name  func(string) string
	value func(expr.Value) string
	// words for what the languages have in different ways; nil or "": it cannot be said
	and, or, not, power, division string
	floorDiv, ceilDiv, modulo     func(a, b string) string
	choice                        func(condition, a, b string) string
	calls                         map[string]func(arguments []string) string
}

// write writes an expression, every operation in brackets.
func (d dialect) write(n *expr.Node) (string, error) {
	parts := make([]string, len(n.Args))
	for i, a := range n.Args {
		if a.Op == expr.OpTuple {
			continue
		}
		var err error
		if parts[i], err = d.write(a); err != nil {
			return "", err
		}
	}
	joined := func(word string) (string, error) {
		if word == "" {
			return "", fmt.Errorf("`%s` cannot be said", n.Op)
		}
		return "(" + strings.Join(parts, " "+word+" ") + ")", nil
	}
	switch n.Op {
	case expr.OpConst:
		return d.value(n.Value), nil
	case expr.OpName:
		return d.name(n.Name), nil
	case expr.OpAdd, expr.OpSub, expr.OpMul:
		return joined(n.Op.String())
	case expr.OpMod:
		return d.modulo(parts[0], parts[1]), nil
	case expr.OpDiv:
		return joined(d.division)
	case expr.OpFloorDiv:
		return d.floorDiv(parts[0], parts[1]), nil
	case expr.OpPow:
		return joined(d.power)
	case expr.OpAnd:
		return joined(d.and)
	case expr.OpOr:
		return joined(d.or)
	case expr.OpNeg, expr.OpPlus:
		return "(" + n.Op.String() + parts[0] + ")", nil
	case expr.OpNot:
		return "(" + d.not + parts[0] + ")", nil
	case expr.OpIf:
		return d.choice(parts[0], parts[1], parts[2]), nil
	case expr.OpCompare:
		return d.compare(n, parts)
	}
	if n.Op == expr.OpCeilDiv {
		return d.ceilDiv(parts[0], parts[1]), nil
	}
	call, ok := d.calls[n.Op.String()]
	if !ok {
		return "", fmt.Errorf("`%s` cannot be said", n.Op)
	}
	return call(parts), nil
}

// compare writes a chain of comparisons as pairs, and `in` as comparisons with each.
func (d dialect) compare(n *expr.Node, parts []string) (string, error) {
	var pairs []string
	for i, c := range n.Cmps {
		if c != expr.CmpIn && c != expr.CmpNotIn {
			pairs = append(pairs, fmt.Sprintf("(%s %s %s)", parts[i], c, parts[i+1]))
			continue
		}
		var each []string
		for _, a := range n.Args[i+1].Args {
			item, err := d.write(a)
			if err != nil {
				return "", err
			}
			each = append(each, fmt.Sprintf("(%s == %s)", parts[i], item))
		}
		text := "(" + strings.Join(each, " "+d.or+" ") + ")"
		if len(each) == 0 {
			text = d.value(expr.Bool(false))
		}
		if c == expr.CmpNotIn {
			text = "(" + d.not + text + ")"
		}
		pairs = append(pairs, text)
	}
	if len(pairs) == 1 {
		return pairs[0], nil
	}
	return "(" + strings.Join(pairs, " "+d.and+" ") + ")", nil
}

func call(name string) func([]string) string {
	return func(arguments []string) string { return name + "(" + strings.Join(arguments, ", ") + ")" }
}

// python is what other tools evaluate.
func python(name func(string) string) dialect {
	calls := map[string]func([]string) string{}
	for _, f := range []string{"abs", "bool", "float", "int", "max", "min", "round"} {
		calls[f] = call(f)
	}
	return dialect{
		name: name, value: func(v expr.Value) string { return plain(v).Source() },
		and: "and", or: "or", not: "not ", power: "**", division: "/", calls: calls,
		floorDiv: func(a, b string) string { return "(" + a + " // " + b + ")" },
		ceilDiv:  func(a, b string) string { return "(-(-" + a + " // " + b + "))" },
		modulo:   func(a, b string) string { return "(" + a + " % " + b + ")" },
		choice:   func(condition, a, b string) string { return "(" + a + " if " + condition + " else " + b + ")" },
	}
}

// cuda is what a kernel's macros are written in, and its preprocessor understands as
// far as numbers are whole. Its quotients are rounded towards 0, Python's down: the
// rest is taken off before the division. Divisors must be positive.
func cuda(name func(string) string) dialect {
	choice := func(condition, a, b string) string { return "(" + condition + " ? " + a + " : " + b + ")" }
	// extreme folds the arguments of max and min two by two.
	extreme := func(sign string) func([]string) string {
		return func(arguments []string) string {
			text := arguments[0]
			for _, a := range arguments[1:] {
				text = choice(text+" "+sign+" "+a, text, a)
			}
			return text
		}
	}
	modulo := func(a, b string) string { return "((" + a + " % " + b + " + " + b + ") % " + b + ")" }
	return dialect{
		name: name, value: func(v expr.Value) string { return "(" + plain(v).String() + ")" },
		and: "&&", or: "||", not: "!", choice: choice, modulo: modulo,
		floorDiv: func(a, b string) string { return "((" + a + " - " + modulo(a, b) + ") / " + b + ")" },
		ceilDiv:  func(a, b string) string { return "((" + a + " + " + modulo("(-"+a+")", b) + ") / " + b + ")" },
		calls: map[string]func([]string) string{
			"max": extreme(">"), "min": extreme("<"),
			"abs": func(a []string) string { return choice(a[0]+" < 0", "(-"+a[0]+")", a[0]) },
			"int": func(a []string) string { return a[0] }, "bool": func(a []string) string { return "(" + a[0] + " != 0)" },
		},
	}
}

// plain is a value as kernels have it: their macros know 0 and 1 for booleans.
func plain(v expr.Value) expr.Value {
	if n, ok := v.AsInt(); ok {
		return expr.Int(n)
	}
	return v
}
