package program

import (
	"errors"
	"fmt"
	"math"

	"autotune/space/expr"
)

// term is a value of a region as an expression.
type term struct {
	*expr.Node
	size int // of its text, about: trees share parts, so a small tree may have a long text
}

const mostText = 1000 // characters of an epilogue

// epilogueTypes are the types that an epilogue computes with, as expressions call them.
var epilogueTypes = map[string]string{"float32": "f32", "bfloat16": "bf16", "float16": "f16"}

func named(name string) term { return term{&expr.Node{Op: expr.OpName, Name: name}, len(name)} }

// number is a constant. The error says that a float does not hold it.
func number(x float64) (term, error) {
	if math.IsInf(float64(float32(x)), 0) || math.IsNaN(x) {
		return term{}, fmt.Errorf("%v is no number that an epilogue can have", x)
	}
	n := &expr.Node{Op: expr.OpConst, Value: expr.Float(math.Abs(x)).Canonical()}
	if x < 0 {
		n = &expr.Node{Op: expr.OpNeg, Args: []*expr.Node{n}}
	}
	return term{n, len(n.Source())}, nil
}

// called is a function of one argument.
func called(function string, x term) term {
	return term{&expr.Node{Op: expr.OpCall, Name: function, Args: []*expr.Node{x.Node}}, len(function) + 2 + x.size}
}

func (t term) isTruth() bool { return t.Op == expr.OpCompare }

// filled is the body of a function with terms for its parameters.
func filled(body *expr.Node, terms map[string]term) (term, error) {
	if body.Op == expr.OpName {
		return terms[body.Name], nil
	}
	if body.Op == expr.OpConst {
		return term{body, 2}, nil
	}
	made := *body
	made.Args = make([]*expr.Node, len(body.Args))
	size := len(body.Name) + 1
	for i, a := range body.Args {
		t, err := filled(a, terms)
		if err != nil {
			return t, err
		}
		if chooses := body.Op == expr.OpCall && body.Name == "where" && i == 0; chooses != t.isTruth() {
			return t, errors.New("an epilogue has comparisons in where() alone, and chooses by nothing else")
		}
		made.Args[i], size = t.Node, size+t.size+1
	}
	if size > 2*mostText {
		return term{}, fmt.Errorf("the expression would be longer than %d characters", mostText)
	}
	return simpler(term{&made, size}), nil
}

// simpler is the term with a shorter form of what programs write in several functions.
func simpler(t term) term {
	switch last := len(t.Args) - 1; {
	case t.Op == expr.OpAdd && t.Args[last].Op == expr.OpNeg && t.Args[last].Args[0].Op == expr.OpConst:
		return term{&expr.Node{Op: expr.OpSub, Args: []*expr.Node{t.Args[0], t.Args[last].Args[0]}}, t.size}
	case t.Op == expr.OpMul:
		a, b := t.Args[0], t.Args[1]
		for range 2 {
			switch text := a.Source(); b.Source() {
			case "sigmoid(" + text + ")":
				return called("silu", term{a, t.size / 2})
			case "tanh(softplus(" + text + "))":
				return called("mish", term{a, t.size / 2})
			}
			a, b = b, a
		}
	}
	return t
}
