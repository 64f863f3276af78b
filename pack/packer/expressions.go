package packer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator"
	"autotune/pack"
	"autotune/space/expr"
)

// A pack has kernels only for the expressions of its problems. A parameter of type expression is therefore stored as a
// parameter of words, each of which is the expression of a packed problem. A call takes the tensors in the expressions
// of all words; a tensor is empty if the call's expression does not use it.

// expressionWord describes an expression parameter as a parameter of words, to which addWord later adds the words. The
// default of a parameter that problems may omit becomes the default word.
func expressionWord(s operator.ParameterSpec) pack.Parameter {
	d := pack.Parameter{Name: s.Name, Type: "word", Words: []string{}, Components: []pack.Component{{Name: s.Name}}}
	if s.Later {
		d.Components[0].Default.Expr = expr.MustParse(expr.String(s.Default.Text).Source())
	}
	return d
}

// parameters adds a problem's parameters to values, and the problem's expression to the operator's words.
func (p *Packed) parameters(of *operator.Problem, values map[string]expr.Value) error {
	for _, s := range of.Operator.Parameters {
		if s.Type == operator.ExpressionParameter {
			values[s.Name] = of.Values[s.Name]
			if err := p.addWord(of, s); err != nil {
				return err
			}
			continue
		}
		for _, name := range s.Names {
			values[name] = of.Values[name]
		}
	}
	return nil
}

// parameter returns the manifest's descriptions of an operator and one of its parameters, or nil for a missing
// parameter.
func (p *Packed) parameter(of, name string) (*pack.Operator, *pack.Parameter) {
	o := p.Operators[slices.IndexFunc(p.Operators, func(o *pack.Operator) bool { return o.Name == of })]
	at := slices.IndexFunc(o.Parameters, func(d pack.Parameter) bool { return d.Name == name })
	if at < 0 {
		return o, nil
	}
	return o, &o.Parameters[at]
}

// words returns the words of a parameter, or nil if it is not a parameter of words.
func (p *Packed) words(of, name string) []string {
	if _, d := p.parameter(of, name); d != nil {
		return d.Words
	}
	return nil
}

// addWord adds a problem's expression to the words of its parameter.
func (p *Packed) addWord(of *operator.Problem, s operator.ParameterSpec) error {
	o, d := p.parameter(of.Operator.Name, s.Name)
	word := of.Values[s.Name].String()
	if slices.Contains(d.Words, word) {
		return nil
	}
	d.Words = append(d.Words, word)
	slices.Sort(d.Words)
	for _, component := range s.Names[1:] {
		if of.Values[component].Truth() {
			say(o, component, s.Name, word)
		}
	}
	if s.Axes == nil {
		return nil
	}
	for _, a := range of.Operator.Epilogue() {
		if err := p.addTensor(o, a, s.Name, word); err != nil {
			return err
		}
	}
	return nil
}

// addTensor adds a tensor of an epilogue to the tensors that calls take; calls with another epilogue pass it empty.
func (p *Packed) addTensor(o *pack.Operator, a operator.ArgumentSpec, parameter, word string) error {
	named := parameter + "_" + a.Name
	t := p.tensor(o, a)
	t.Shape[0].Expr = expr.MustParse("(" + t.Shape[0].String() + ") if " + named + " else 0")
	own := lists.Where(o.Tensors, func(t pack.TensorSpec) bool { return !ofEpilogue(o, t) })
	beside := lists.Where(o.Tensors, func(t pack.TensorSpec) bool { return ofEpilogue(o, t) })
	order := func(a, b pack.TensorSpec) int { return cmp.Compare(a.Name, b.Name) }
	switch at, known := slices.BinarySearchFunc(beside, t, order); {
	case !known:
		o.Tensors = slices.Concat(own, slices.Insert(beside, at, t))
		unsaid := pack.Definition{Name: named, Value: pack.Formula{Expr: expr.MustParse("False")}}
		o.Derived = slices.Insert(o.Derived, len(o.Derived)-len(beside)+at, unsaid) // the same order as the tensors
	case !same(beside[at], t):
		return fmt.Errorf("`%s` is another tensor in another epilogue of the pack; call one of them otherwise, or make "+
			"a pack of each", a.Name)
	}
	say(o, named, parameter, word)
	return nil
}

// operands returns the names of the tensors in all packed epilogues.
func (p *Packed) operands(of string, s operator.ParameterSpec) []string {
	o, _ := p.parameter(of, s.Name)
	beside := lists.Where(o.Tensors, func(t pack.TensorSpec) bool { return s.Axes != nil && ofEpilogue(o, t) })
	return lists.Of(beside, func(t pack.TensorSpec) string { return t.Name })
}

// epilogueCall describes the Python function that computes an operator with an epilogue, from the operator's tensors,
// the epilogue, the epilogue's tensors, and the operator's parameters.
func (p *Packed) epilogueCall(o *operator.Operator, s operator.ParameterSpec) operator.TorchCall {
	c := operator.TorchCall{Function: o.Name + "_" + s.Name}
	add := func(name string, optional bool) {
		a := operator.TorchArgument{Name: name, Is: name}
		if optional {
			a.Default = operator.None
		}
		c.Arguments = append(c.Arguments, a)
	}
	described, _ := p.parameter(o.Name, s.Name)
	optional := map[string]bool{}
	for _, t := range described.Tensors {
		optional[t.Name] = strings.HasSuffix(t.Shape[0].String(), " else 0")
		if t.Role != string(operator.Output) && !optional[t.Name] {
			add(t.Name, false)
		}
	}
	add(s.Name, false)
	for _, t := range described.Tensors {
		if optional[t.Name] {
			add(t.Name, true)
		}
	}
	for _, other := range o.Parameters {
		if _, tensor := optional[other.Name]; !tensor && other.Type != operator.WordParameter && other.Name != s.Name {
			add(other.Name, true)
		}
	}
	return c
}

// ofEpilogue reports whether a tensor belongs to an epilogue, from the condition that addTensor puts in its shape.
func ofEpilogue(o *pack.Operator, t pack.TensorSpec) bool {
	return slices.ContainsFunc(o.Parameters, func(s pack.Parameter) bool {
		return strings.HasSuffix(t.Shape[0].String(), " if "+s.Name+"_"+t.Name+" else 0")
	})
}

// same reports whether two tensors with the same name have the same type and shape.
func same(a, b pack.TensorSpec) bool {
	texts := func(t pack.TensorSpec) []string { return lists.Of(t.Shape, pack.Formula.String) }
	return a.Type == b.Type && a.TypeBy == b.TypeBy && slices.Equal(texts(a), texts(b))
}

// unsaid defines the components of an expression parameter as False, until a word is added that uses them.
func unsaid(s operator.ParameterSpec) (all []pack.Definition) {
	for _, component := range s.Names[1:] {
		all = append(all, pack.Definition{Name: component, Value: pack.Formula{Expr: expr.MustParse("False")}})
	}
	return all
}

// say adds a word whose expression uses a tensor to the condition of a component, which is true for problems whose
// expression uses this tensor.
func say(o *pack.Operator, component, parameter, word string) {
	at := slices.IndexFunc(o.Derived, func(d pack.Definition) bool { return d.Name == component })
	all := []string{parameter + " == " + expr.String(word).Source()}
	if known := o.Derived[at].Value.String(); known != "False" {
		all = append(all, strings.Split(known, " or ")...)
	}
	slices.Sort(all) // independent of the winners' order
	o.Derived[at].Value.Expr = expr.MustParse(strings.Join(all, " or "))
}

// expressionValues returns a problem's expressions by their parameters' names, or nil if the problem has none.
func expressionValues(p *operator.Problem) (values map[string]expr.Value) {
	for _, s := range p.Operator.Parameters {
		if s.Type == operator.ExpressionParameter {
			values = map[string]expr.Value{s.Name: p.Values[s.Name]}
		}
	}
	return values
}

// expressionDigests returns short digests of a problem's expressions, for use in names of files.
func expressionDigests(p *operator.Problem) (digests []string) {
	for _, v := range expressionValues(p) {
		digest := sha256.Sum256([]byte(v.String()))
		digests = append(digests, hex.EncodeToString(digest[:4]))
	}
	return digests
}

// leftOut adds the default expression to the pack, for problems whose requests omit the parameter.
func (p *Packed) leftOut(o *operator.Operator) error {
	for _, s := range o.Parameters {
		if s.Type == operator.ExpressionParameter && s.Later {
			means := map[string]operator.TorchValue{s.Name: operator.TorchValue(s.Default.Text)}
			if err := p.meant(o, operator.TorchCall{Means: means}); err != nil {
				return err
			}
		}
	}
	return nil
}

// meant adds to the pack the values of expression parameters for which an operator computes a PyTorch function.
func (p *Packed) meant(o *operator.Operator, call operator.TorchCall) error {
	for _, s := range o.Parameters {
		if s.Type != operator.ExpressionParameter {
			continue
		}
		for _, word := range call.Meant(s.Name) {
			request := operator.Request{Shape: o.Example, Parameters: map[string]string{s.Name: word}}
			bound, err := o.Bind(request, operator.TypicalLimits())
			if err != nil {
				return err
			}
			if err := p.addWord(bound, s); err != nil {
				return err
			}
		}
	}
	return nil
}
