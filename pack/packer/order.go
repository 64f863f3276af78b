package packer

import (
	"fmt"
	"slices"

	"autotune/pack"
	"autotune/space/expr"
	"autotune/tuner/operator"
)

// A pack's tensors lie in memory as their shapes say. A parameter that names another order is no part of a pack.

// asShaped refuses a problem with a tensor in another order.
func asShaped(p *operator.Problem) error {
	for _, a := range p.Arguments {
		if a.Order != nil {
			return fmt.Errorf("`%s` lies in memory otherwise than its shape says; a pack's tensors do not (a PyTorch module takes it: --format pytorch)", a.Name)
		}
	}
	return nil
}

// asOrdered is a formula where such parameters have their defaults.
func asOrdered(o *operator.Operator, f operator.Formula) pack.Formula {
	folder := expr.Folder{Constants: map[string]expr.Value{}}
	for _, s := range o.Parameters {
		if slices.Contains(o.Orders(), s.Name) && slices.Contains(f.Code().Names(), s.Name) {
			folder.Constants[s.Name] = s.Default.Code().Root().Value
		}
	}
	if len(folder.Constants) == 0 {
		return formula(f)
	}
	return pack.Formula{Expr: expr.MustParse(folder.Fold(f.Code().Root()).Source())}
}

// without are the names that the others do not have.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
