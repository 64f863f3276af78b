// Package lint looks for what is doubtful or wrong in an operator before anybody searches it.
package lint

import (
	"context"
	"errors"
	"fmt"

	"autotune/device/compile"
	"autotune/internal/lists"
	"autotune/operator"
)

// Finding is one thing that was found. A fault keeps the operator from being
// searched somewhere; other findings are only doubtful.
type Finding struct {
	Template string `json:"template"`
	Text     string `json:"text"`
	Fault    bool   `json:"fault,omitempty"`
}

// Signatures finds kernels whose parameters cannot be the operator's arguments.
func Signatures(o *operator.Operator) []Finding {
	return lists.Of(o.SignatureFaults(), func(f operator.TemplateFault) Finding {
		return Finding{f.Template, f.Fault.Error(), true}
	})
}

// looseAbsolute and looseRelative are tolerances that accept wrong results: with the latter zeros pass.
const (
	looseAbsolute = 1e3
	looseRelative = 1
)

// Described finds outputs whose tolerance accepts almost any result, and what op.yaml defines and nothing mentions.
func Described(p *operator.Problem) []Finding {
	var found []Finding
	doubt := func(template, text string) { found = append(found, Finding{Template: template, Text: text}) }
	for _, a := range p.Arguments {
		if a.Type.Kind() == operator.Floating && (a.ATol >= looseAbsolute || a.RTol >= looseRelative) {
			doubt(p.Operator.Name, fmt.Sprintf("the tolerance of `%s`, atol %g and rtol %g, holds results that are wrong",
				a.Name, a.ATol, a.RTol))
		}
	}
	for _, warning := range p.Operator.Warnings() {
		doubt(p.Operator.Name, warning)
	}
	for _, t := range p.Operator.Templates {
		for _, warning := range t.Warnings() {
			doubt(t.Name, warning)
		}
	}
	return found
}

// Compiled compiles the default of each template that serves the problem, and finds those that do not compile. p must
// be bound to the limits of the architecture. Without the headers that a kernel includes the error is
// compile.ErrHeaders.
func Compiled(ctx context.Context, p *operator.Problem, c compile.Compiler, arch string) (found []Finding, err error) {
	for _, d := range p.Defaults(ctx) {
		k, err := p.Kernel(d)
		if err != nil {
			return nil, err
		}
		_, err = c.Compile(ctx, compile.Request{Kernel: k, Arch: arch})
		var refused *compile.Error
		switch {
		case errors.As(err, &refused) && !errors.Is(err, compile.ErrHeaders):
			text := fmt.Sprintf("the default does not compile for %s: %s", arch, refused)
			found = append(found, Finding{d.Template, text, true})
		case err != nil:
			return nil, err
		}
	}
	return found, nil
}
