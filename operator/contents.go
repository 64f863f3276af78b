package operator

import (
	"path"

	"autotune/operator/tree"
)

// OwnKernel is a kernel in the operator's folder that fills tensors with inputs, or that compares outputs with the
// reference's outputs. A comparing kernel returns a number that is 0 for correct outputs and grows with the error.
type OwnKernel struct {
	Source Source
	Entry  string
}

// String describes the kernel for messages: "op_compare of compare.cu".
func (k *OwnKernel) String() string { return k.Entry + " of " + k.Source.File }

func (k *OwnKernel) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// ownFill reads the name of a kernel file, `FILE.cu`; ok is false if n names a distribution instead.
func (l *loader) ownFill(n *tree.Node) (f FillSpec, ok bool) {
	if path.Ext(n.Written) != ".cu" {
		return f, false
	}
	entry := l.o.Name + "_fill"
	s := l.kernelFile(n, n, entry)
	f.Kernel = s.File + " " + entry
	l.o.FillKernels[f.Kernel] = &OwnKernel{s, entry}
	return f, true
}

// Filling is a kernel that fills tensors. The arguments of a filling kernel are the filled tensors and all scalars, in
// the operator's order, and the seed.
type Filling struct {
	Kernel    Kernel
	Tensors   []int
	Arguments []int
}

func (p *Problem) Fillings() []Filling {
	var all []Filling
	for _, name := range sorted(p.Operator.FillKernels) {
		f, most := Filling{}, int64(0)
		for i, a := range p.Arguments {
			fills := a.Fill != nil && a.Fill.Kernel == name
			if fills {
				f.Tensors = append(f.Tensors, i)
				most = max(most, a.Elements)
			}
			if fills || a.Role == Scalar {
				f.Arguments = append(f.Arguments, i)
			}
		}
		if most > 0 {
			k := p.Operator.FillKernels[name]
			f.Kernel = helper(p, "fill", k.Entry, k.Source, most)
			all = append(all, f)
		}
	}
	return all
}

func (p *Problem) Comparing() (Kernel, bool) {
	c := p.Operator.Compare
	if c == nil {
		return Kernel{}, false
	}
	return helper(p, "compare", c.Entry, c.Source, p.Output().Elements), true
}

// helper returns a kernel of the operator that is not a template, launched with one thread per element.
func helper(p *Problem, role, entry string, s Source, elements int64) Kernel {
	blocks := (elements + referenceBlock - 1) / referenceBlock
	launch := Launch{Entry: entry, Grid: [3]int64{blocks, 1, 1}, Block: [3]int64{referenceBlock, 1, 1}}
	return kernelOf(p, role, s, neighbourValues(p, role, s, nil), Launches{launch})
}
