package operator

import (
	"errors"
	"fmt"

	"autotune/space/expr"
)

// rehearsal binds a freshly loaded operator to its example, as far as it has one,
// and sees that the templates' defaults are valid there.
type rehearsal struct {
	o    *Operator
	root *node
}

// rehearsalLimits are those of a recent GPU; a template that it cannot serve is
// left alone.
var rehearsalLimits = Limits{
	Arch: 90, Target: "sm_90a", SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 227 << 10, SharedPerSM: 228 << 10,
	RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 50 << 20, MemoryBytes: 80 << 30,
}

func (c rehearsal) check() error {
	if c.o.Example == nil || !c.runs() {
		return c.withoutExample()
	}
	for _, mode := range c.o.MathModes {
		p, err := c.o.Bind(Request{Shape: c.o.Example, Math: mode}, rehearsalLimits)
		if err != nil {
			n := c.root.get("example")
			var request *RequestError
			message := err.Error()
			if errors.As(err, &request) {
				message = request.Message
			}
			return &Error{File: c.o.File, Line: n.line, Column: n.column, Message: "the example cannot be bound: " + message}
		}
		for i, t := range c.o.Templates {
			if err := c.template(p, t, c.root.get("templates").items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// runs tells whether the operator can be bound with no parameter set.
func (c rehearsal) runs() bool {
	for _, spec := range c.o.Parameters {
		if _, preset := c.o.Preset[spec.Name]; spec.Default == nil && !preset {
			return false
		}
	}
	return true
}

// template checks a template's default for the example.
func (c rehearsal) template(p *Problem, t *Template, n *node) error {
	if t.When != nil {
		if v, err := t.When.code.Eval(p.constants()); err != nil || !v.Truth() {
			return nil
		}
	}
	env, err := p.environment(t, t.Default)
	if err != nil {
		return err
	}
	for _, f := range t.Constraints {
		if err := c.holds(f, env, n); err != nil {
			return err
		}
	}
	for _, l := range t.launchLimits() {
		if v, err := l.code.Eval(env); err != nil || !v.Truth() {
			launch := n.get("launch")
			return &Error{File: c.o.File, Line: launch.line, Column: launch.column, Message: fmt.Sprintf("the default of template `%s` cannot be launched: %s does not hold", t.Name, l.text)}
		}
	}
	return nil
}

// holds checks one constraint, if all that it names is known.
func (c rehearsal) holds(f Formula, env map[string]expr.Value, n *node) error {
	for _, name := range f.code.Names() {
		if _, ok := env[name]; !ok {
			return nil
		}
	}
	v, err := f.code.Eval(env)
	if err != nil {
		return &Error{File: c.o.File, Line: f.Line, Column: f.Column, Message: fmt.Sprintf("the constraint `%s` cannot be computed for the default: %v", f.Text, err)}
	}
	if v.Truth() {
		return nil
	}
	at := n.get("default")
	if at == nil {
		at = n
	}
	values := ""
	for _, name := range f.code.Names() {
		values += fmt.Sprintf(" %s=%v", name, env[name])
	}
	return &Error{File: c.o.File, Line: at.line, Column: at.column,
		Message: fmt.Sprintf("the default violates the constraint `%s` of line %d", f.Text, f.Line), Hint: "here" + values}
}

// withoutExample checks the constraints that need nothing but tunables and limits.
func (c rehearsal) withoutExample() error {
	for i, t := range c.o.Templates {
		env := rehearsalLimits.values()
		for name, v := range t.Default {
			env[name] = v
		}
		for _, f := range t.Constraints {
			if err := c.holds(f, env, c.root.get("templates").items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
