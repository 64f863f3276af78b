package lint

import (
	"testing"

	"autotune/operator"
)

// Every built-in operator can be looked at, those too whose templates have workspaces of their own.
func TestConstraintsOfBuiltIns(t *testing.T) {
	operators, err := operator.Operators()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range operators {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			p, err := o.Bind(operator.Request{Shape: o.Example}, operator.TypicalLimits())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Constraints(t.Context(), o, []*operator.Problem{p}); err != nil {
				t.Error(err)
			}
		})
	}
}
