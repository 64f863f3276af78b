package family

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"autotune/operator"
	"autotune/tuner/cudasource"
	"autotune/tuner/winners"
)

// Kernel is an entry's kernel with formulas that compute its launches for other shapes.
type Kernel struct {
	operator.Kernel
	Problem  *operator.Problem // problem of the shape that the kernel is compiled for
	Formulas operator.Formulas
}

// Kernels returns the kernels of a family's entries, which it takes from the operator. The error wraps
// cudasource.ErrSearchAgain if a kernel or the reference has changed since the family was tuned.
func (f *Family) Kernels(op *operator.Operator) (all []Kernel, err error) {
	if !slices.Equal(f.Dimensions, op.Shape) {
		return nil, fmt.Errorf("the family %s has the dimensions %v, and the operator %v; %w",
			f, f.Dimensions, op.Shape, cudasource.ErrSearchAgain)
	}
	if len(f.Samples) > 0 { // f.Reference is the first sample's
		p, err := op.Bind(f.Request(f.Samples[0].Shape), winners.LimitsOf(f.Device))
		if err != nil {
			return nil, fmt.Errorf("the family %s: %w", f, err)
		}
		if digest, err := p.ReferenceDigest(); err != nil || digest != f.Reference {
			return nil, fmt.Errorf("the family %s: the reference has changed since the search; %w",
				f, cmp.Or(err, cudasource.ErrSearchAgain))
		}
	}
	for i, e := range f.Entries {
		k, err := f.kernel(op, e)
		if err != nil {
			return nil, fmt.Errorf("entry %d of the family %s: %w", i, f, err)
		}
		all = append(all, k)
	}
	return all, nil
}

func (f *Family) kernel(op *operator.Operator, e Entry) (k Kernel, err error) {
	if k.Problem, err = op.Bind(f.Request(e.Shape), winners.LimitsOf(f.Device)); err != nil {
		return k, err
	}
	if k.Kernel, err = k.Problem.Kernel(e.Configuration); err != nil {
		return k, fmt.Errorf("the template has changed since the search; %w: %w", cudasource.ErrSearchAgain, err)
	}
	if k.Digest() != e.Digest {
		return k, fmt.Errorf("template %s has changed since the search; %w", e.Template, cudasource.ErrSearchAgain)
	}
	k.Formulas, err = k.Problem.Formulas(e.Configuration)
	return k, err
}

func (f *Family) Request(shape []int64) operator.Request {
	return operator.ProblemRecord{Shape: shape, Parameters: f.Parameters, Math: f.Math, Free: f.Free}.Request()
}

func (f *Family) String() string {
	words := []string{f.Operator, f.Shapes}
	for _, p := range f.Parameters {
		words = append(words, p.Name+"="+p.Value)
	}
	return strings.Join(append(words, "math="+f.Math), " ")
}
