package program

import (
	"fmt"
	"strings"

	"autotune/space/expr"
)

// ATen's elementwise functions as expressions of epilogues (docs/epilogues.md). A parameter may have a default, as
// alpha=1; `!2` is the value that it must have here, `=1!` means the default. The first line that fits a call counts.
const pointwiseTable = `
relu self: relu(self)
relu6 self: relu6(self)
leaky_relu self negative_slope=0.01!: leaky_relu(self)
leaky_relu self negative_slope=0.01: leaky_relu(self, negative_slope)
gelu self approximate=none!: gelu(self)
gelu self approximate!tanh: gelu_tanh(self)
silu self: silu(self)
mish self: mish(self)
hardswish self: hardswish(self)
hardsigmoid self: hardsigmoid(self)
hardtanh self min_val=-1 max_val=1: clamp(self, min_val, max_val)
sigmoid self: sigmoid(self)
tanh self: tanh(self)
softplus self beta=1! threshold=20!: softplus(self)
softplus self beta=1 threshold=20: softplus(self, beta, threshold)
log_sigmoid self: logsigmoid(self)
elu self alpha=1! scale=1! input_scale=1!: elu(self)
elu self alpha=1 scale=1! input_scale=1!: elu(self, alpha)
celu self alpha=1!: elu(self)
selu self: selu(self)
threshold self threshold value: where(self > threshold, self, value)
exp self: exp(self)
expm1 self: expm1(self)
log self: log(self)
log1p self: log1p(self)
sqrt self: sqrt(self)
rsqrt self: 1/sqrt(self)
reciprocal self: 1/self
erf self: erf(self)
sin self: sin(self)
cos self: cos(self)
abs self: abs(self)
neg self: -self
square self: square(self)
pow self exponent!2: square(self)
pow self exponent!1: self
pow self exponent!0.5: sqrt(self)
pow self exponent!-1: 1/self
pow self exponent: pow(self, exponent)
add self other alpha=1!: self + other
add self other alpha: self + alpha*other
sub self other alpha=1!: self - other
sub self other alpha: self - alpha*other
rsub self other alpha=1!: other - self
rsub self other alpha: other - alpha*self
mul self other: self*other
div self other rounding_mode=None!: self/other
clamp self min!None max: min(self, max)
clamp self min max=None!: max(self, min)
clamp self min max: clamp(self, min, max)
clamp_min self min: max(self, min)
clamp_max self max: min(self, max)
minimum self other: min(self, other)
maximum self other: max(self, other)
min.other self other: min(self, other)
max.other self other: max(self, other)
lt self other: self < other
le self other: self <= other
gt self other: self > other
ge self other: self >= other
eq self other: self == other
ne self other: self != other
where.self condition self other: where(condition, self, other)
where.ScalarOther condition self other: where(condition, self, other)
where.ScalarSelf condition self other: where(condition, self, other)
where.Scalar condition self other: where(condition, self, other)
masked_fill self mask value: where(mask, value, self)
`

// synonyms are functions of the table that ATen has under another name too.
var synonyms = map[string]string{
	"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg", "absolute": "abs",
	"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "clip": "clamp",
}

// casts are functions that give their first argument in another type, or in the same.
var casts = map[string]bool{"to": true, "_to_copy": true, "type_as": true, "float": true, "half": true, "bfloat16": true}

// parameter is one of a function's in the table.
type parameter struct {
	name, usual, must string // usual "": it must be given; must "": any value
}

type pointwise struct {
	parameters []parameter
	body       *expr.Node
}

var pointwiseFunctions = readPointwise()

func readPointwise() map[string][]pointwise {
	all := map[string][]pointwise{}
	for line := range strings.Lines(strings.TrimSpace(pointwiseTable)) {
		head, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		words := strings.Fields(head)
		made := pointwise{}
		for _, word := range words[1:] {
			before, must, fixed := strings.Cut(word, "!")
			name, usual, _ := strings.Cut(before, "=")
			if fixed && must == "" {
				must = usual
			}
			made.parameters = append(made.parameters, parameter{name, usual, must})
		}
		body, err := expr.ParseOpen(text)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", line, err))
		}
		made.body = body
		all[words[0]] = append(all[words[0]], made)
	}
	return all
}

// functionOf is the name of an ATen function, without its overload and with it.
func functionOf(n *Node) (name, overload string) {
	overload = strings.TrimPrefix(n.Function, "aten.")
	name, _, _ = strings.Cut(overload, ".")
	return name, overload
}

func (n *Node) isCast() bool {
	name, _ := functionOf(n)
	return casts[name]
}

// linesOf are the lines of the table for a call; nil: it is not elementwise.
func linesOf(n *Node) []pointwise {
	name, overload := functionOf(n)
	if own := pointwiseFunctions[overload]; own != nil {
		return own
	}
	if synonym, known := synonyms[name]; known {
		name = synonym
	}
	return pointwiseFunctions[name]
}

func (n *Node) isPointwise() bool { return len(n.Results) == 1 && (n.isCast() || linesOf(n) != nil) }

// given are a call's arguments by the line's parameters; nil: the call has others, or other values.
func (p pointwise) given(n *Node) map[string]Argument {
	given := map[string]Argument{}
	if len(n.Arguments) > len(p.parameters) {
		return nil
	}
	for i, a := range n.Arguments {
		given[p.parameters[i].name] = a
	}
	for name, a := range n.Keywords {
		given[name] = a
	}
	known := 0
	for _, s := range p.parameters {
		a, is := given[s.name]
		if is {
			known++
		} else if a = literal(s.usual); s.usual == "" {
			return nil
		}
		if s.must != "" && !same(a, literal(s.must)) {
			return nil
		}
		given[s.name] = a
	}
	if known < len(n.Arguments)+len(n.Keywords) {
		return nil
	}
	return given
}

// literal is a constant of the table.
func literal(text string) Argument {
	if text == "None" {
		return Argument{}
	}
	var a Argument
	if err := a.UnmarshalJSON([]byte(text + " ")); err != nil || text == "none" || text == "tanh" {
		return Constant(text)
	}
	return a
}

func same(a, b Argument) bool {
	x, isNumber := a.Number()
	if y, both := b.Number(); isNumber || both {
		return isNumber && both && x == y
	}
	return a.Value == "" && a.List == nil && a.Python == "" && b.Constant == a.Constant
}
