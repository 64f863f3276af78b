package operator

import (
	"fmt"
)

// EditorKernels returns the kernels that an editor needs to check an operator's files, the reference kernel first. Each
// file has one kernel, with the macros of the default of the file's first template, for the operator's example on a
// recent GPU. Templates that do not serve the example are included, because an editor needs macros for their files.
func (o *Operator) EditorKernels() ([]Kernel, error) {
	if o.Example == nil {
		return nil, o.refusal("`example: 64x256` in op.yaml gives one", "an editor needs a problem to read kernels for, and op.yaml has no `example`")
	}
	p, err := o.Bind(Request{Shape: o.Example}, TypicalLimits())
	if err != nil {
		return nil, err
	}
	var kernels []Kernel
	seen := map[string]bool{}
	add := func(k Kernel, err error) error {
		if err == nil && !seen[k.File] {
			seen[k.File] = true
			kernels = append(kernels, k)
		}
		return err
	}
	if o.Reference.File != "" {
		if err := add(p.Reference()); err != nil {
			return nil, err
		}
	}
	for _, t := range o.Templates {
		if err := add(p.Kernel(t.Default)); err != nil {
			return nil, fmt.Errorf("template %s: %w", t.Name, err)
		}
	}
	return kernels, nil
}
