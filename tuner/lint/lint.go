// Package lint looks for what is doubtful or wrong in an operator before anybody searches it.
package lint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"autotune/device/compile"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
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

// Compiled compiles the default of each template that serves the problem, and finds those that do not compile; and
// tunables of which every value makes the same code and launch as the default's. p must be bound to the limits of the
// architecture. Without the headers that a kernel includes the error is compile.ErrHeaders.
func Compiled(ctx context.Context, p *operator.Problem, c compile.Compiler, arch string) ([]Finding, error) {
	var found []Finding
	for _, d := range p.Defaults(ctx) {
		l := looker{p, c, arch}
		base, fault, err := l.compile(ctx, d)
		if err != nil {
			return nil, err
		}
		if fault != "" {
			text := fmt.Sprintf("the default does not compile for %s: %s", arch, fault)
			found = append(found, Finding{d.Template, text, true})
			continue
		}
		idle, err := l.idle(ctx, d, base)
		if err != nil {
			return nil, err
		}
		found = append(found, idle...)
	}
	return found, nil
}

type looker struct {
	*operator.Problem
	compiler compile.Compiler
	arch     string
}

// made is the code and the launches of a configuration.
type made struct {
	code     string
	launches string
}

func (l looker) compile(ctx context.Context, c space.Configuration) (m made, fault string, err error) {
	k, err := l.Kernel(c)
	if err != nil {
		return m, "", err
	}
	b, err := l.compiler.Compile(ctx, compile.Request{Kernel: k, Arch: l.arch})
	var refused *compile.Error
	if errors.As(err, &refused) && !errors.Is(err, compile.ErrHeaders) {
		return m, refused.Error(), nil
	}
	if err != nil {
		return m, "", err
	}
	return made{string(b.Code), fmt.Sprintf("%#v", k.Launches)}, "", nil
}

// idle finds the tunables without effect: every valid configuration that differs
// from the default in one of them alone is the same kernel, launched the same way.
func (l looker) idle(ctx context.Context, d space.Configuration, base made) ([]Finding, error) {
	sp, err := l.Space(ctx)
	if err != nil {
		return nil, err
	}
	t, _ := l.Operator.Template(d.Template)
	var found []Finding
	for _, tunable := range t.Tunables {
		tried, works := 0, false
		for _, v := range tunable.Values {
			other := space.Configuration{Template: d.Template, Values: slices.Clone(d.Values)}
			at := slices.IndexFunc(other.Values, func(x space.Value) bool { return x.Name == tunable.Name })
			if own := other.Values[at].Value; own.Equal(v) {
				continue
			}
			other.Values[at].Value = v
			if _, valid := sp.Index(other); !valid {
				continue
			}
			m, fault, err := l.compile(ctx, other)
			if err != nil {
				return nil, err
			}
			tried++
			if works = fault != "" || m != base; works {
				break
			}
		}
		if tried > 0 && !works {
			text := fmt.Sprintf("`%s` has no effect while the others have their defaults: all its values make the same code "+
				"and launch on %s", tunable.Name, l.arch)
			found = append(found, Finding{Template: d.Template, Text: text})
		}
	}
	return found, nil
}
