package recording

import (
	"fmt"
	"slices"
	"strings"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
)

// TemplateOf is the template that a tool's trials are of: the one of that name, or without a name the only one all of
// whose tunables the trials have.
func (r *Recording) TemplateOf(op *operator.Operator, name string) (*operator.Template, error) {
	if name != "" {
		names := lists.Of(op.Templates, func(t *operator.Template) string { return t.Name })
		if at := slices.Index(names, name); at >= 0 {
			return op.Templates[at], nil
		}
		return nil, fmt.Errorf("unknown template %q; there are %s", name, strings.Join(names, ", "))
	}
	if len(op.Templates) == 1 || len(r.Trials) == 0 {
		return op.Templates[0], nil
	}
	fitting := lists.Where(op.Templates, func(t *operator.Template) bool {
		missing, more := tunablesBeside(op, t, r.Trials[0])
		return len(missing)+len(more) == 0
	})
	if len(fitting) != 1 {
		return nil, fmt.Errorf("%d templates of %s have the tunables of the trials; name one with --template", len(fitting),
			op.Name)
	}
	return fitting[0], nil
}

// Untold are the tunables of a trial that a template lacks.
func Untold(op *operator.Operator, t *operator.Template, x trial.Trial) []string {
	_, more := tunablesBeside(op, t, x)
	return more
}

// tunablesBeside compares the tunables of a trial with a template's, which may have the names of their macros.
func tunablesBeside(op *operator.Operator, t *operator.Template, x trial.Trial) (missing, more []string) {
	known := map[string]bool{}
	for _, tunable := range t.Tunables {
		_, own := x.Get(tunable.Name)
		macro := op.Macros.Macro(tunable.Name)
		if _, ok := x.Get(macro); !ok && !own {
			missing = append(missing, tunable.Name)
		}
		known[tunable.Name], known[macro] = true, true
	}
	for _, v := range x.Values {
		if !known[v.Name] {
			more = append(more, v.Name)
		}
	}
	return missing, more
}
