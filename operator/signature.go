package operator

import (
	"fmt"
	"path"
	"slices"

	"autotune/internal/cudafile"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator/tree"
)

// A GPU does not check the types of a kernel's arguments: all pointers are the same to it. So the
// entries' parameters are read from the source and compared with op.yaml.

// CheckSignatures gives the first entry whose parameters cannot be the operator's arguments, as an
// *tree.Error with its place. Types that the source alone does not tell, as those of C++ templates'
// parameters, are not checked.
func (o *Operator) CheckSignatures() error {
	if faults := o.SignatureFaults(); len(faults) > 0 {
		return faults[0].Fault
	}
	return nil
}

// TemplateFault is what is wrong with a template, or the reference.
type TemplateFault struct {
	Template string // "reference" for the reference
	Fault    *tree.Error
}

// SignatureFaults lists all entries that CheckSignatures would refuse.
func (o *Operator) SignatureFaults() []TemplateFault {
	var faults []TemplateFault
	add := func(template string, fault *tree.Error) {
		if fault != nil {
			faults = append(faults, TemplateFault{template, fault})
		}
	}
	if o.ReferenceTemplate == "" && o.Answers == nil {
		add("reference", o.disagreement(named(cudafile.Kernels(o.Reference.Text), o.referenceEntry), o.takes(nil, nil), o.Reference))
	}
	for _, t := range o.Templates {
		kernels := cudafile.Kernels(t.Source.Text)
		for i, entry := range t.entries() {
			defined, takes := named(kernels, entry), o.takes(t.Launches[i].Arguments, t.TensorMaps)
			add(t.Name, o.disagreement(defined, takes, t.Source))
			if i > 0 && !t.Launches[i].Dependent.Never() {
				add(t.Name, o.readEarly(defined, takes, t.Source))
			}
		}
	}
	return faults
}

// named are the kernels with a name: several where a file has one for launches of other arguments.
func named(kernels []cudafile.Kernel, name string) []cudafile.Kernel {
	return lists.Where(kernels, func(k cudafile.Kernel) bool { return k.Name == name })
}

// mapRole is that of an argument that is passed as a tensor map.
const mapRole Role = "tensor map"

// takes are the arguments with some names; without names, all that are passed.
func (o *Operator) takes(names []string, maps []*TensorMapSpec) []ArgumentSpec {
	taken := lists.Where(o.Arguments, func(a ArgumentSpec) bool { return names == nil && a.Symbol == "" && a.Owner == "" })
	for _, name := range names {
		a := ArgumentSpec{Name: name, Role: mapRole}
		if !slices.ContainsFunc(maps, func(m *TensorMapSpec) bool { return m.Name == name }) {
			a = o.Arguments[o.argument(name)]
		}
		taken = append(taken, a)
	}
	return taken
}

// disagreement says where a kernel takes something else than the operator has; nil, too, where the source does not
// tell what it takes, or has several of the name.
func (o *Operator) disagreement(defined []cudafile.Kernel, takes []ArgumentSpec, s Source) *tree.Error {
	if len(defined) != 1 || defined[0].Unclear || len(defined[0].Template) > 0 {
		return nil
	}
	k := defined[0]
	fail := func(at cudafile.Place, format string, args ...any) *tree.Error {
		return o.faultIn(s, at, format, args...)
	}
	if taken, has := len(k.Parameters), len(takes); taken != has {
		return fail(k.Place, "the kernel `%s` takes %s, the operator has %d", k.Name, output.Count(taken, "argument"), has)
	}
	for i, p := range k.Parameters {
		a := takes[i]
		if fits(p, a) {
			continue
		}
		taken, what := spelled(p.Type, p.Pointer, p.Pointer && p.Const), "a tensor of"
		switch {
		case a.Role == mapRole:
			return fail(p.Place, "argument %d, %s: the kernel `%s` takes %s, the operator has a tensor map, which is const __grid_constant__ TensorMap", i+1, a.Name, k.Name, taken)
		case a.Role == Scalar:
			what = "a scalar of"
		case a.Role == Output:
			what = "an output of"
		}
		return fail(p.Place, "argument %d, %s: the kernel `%s` takes %s, the operator has %s %s, which is %s",
			i+1, a.Name, k.Name, taken, what, a.TypeText(), a.spellings())
	}
	return nil
}

// readEarly says which workspace the compiler may load before a dependent launch waits for those that write it. With
// __restrict__ the compiler takes it that nothing else writes there while the kernel runs.
func (o *Operator) readEarly(defined []cudafile.Kernel, takes []ArgumentSpec, s Source) *tree.Error {
	for _, k := range defined {
		if len(k.Parameters) != len(takes) {
			continue
		}
		for i, p := range k.Parameters {
			if a := takes[i]; a.Role == Workspace && p.Alone {
				return o.faultIn(s, p.Place, "argument %d, %s: the kernel `%s` begins before earlier launches have written this workspace, "+
					"and with __restrict__ the compiler may read it then; leave __restrict__ out", i+1, a.Name, k.Name)
			}
		}
	}
	return nil
}

// faultIn is a fault at a place of a source.
func (o *Operator) faultIn(s Source, at cudafile.Place, format string, args ...any) *tree.Error {
	return &tree.Error{Position: tree.Position{File: path.Join(path.Dir(o.File), s.File), Line: at.Line, Column: at.Column}, Message: fmt.Sprintf(format, args...)}
}

// fits tells whether a parameter can be an argument.
func fits(p cudafile.Parameter, a ArgumentSpec) bool {
	element := cudafile.Element(p.Type)
	known := slices.ContainsFunc(types, func(f typeFacts) bool { return f.cuda == element })
	switch {
	case p.Unclear:
		return true
	case a.Role == mapRole:
		return !known && !p.Pointer
	case !known && !p.Pointer: // a type of the file's own, which may be a pointer, too
		return true
	case p.Pointer != (a.Role != Scalar) || p.Pointer && p.Const && a.Role == Output:
		return false
	}
	return !known || slices.ContainsFunc(a.Types, func(t Type) bool { return t.CUDA() == element })
}

// spellings are what a kernel may take for an argument, as C++ writes it.
func (a ArgumentSpec) spellings() string {
	all := lists.Of(a.Types, func(t Type) string { return spelled(t.CUDA(), a.Role != Scalar, false) })
	return alternatives(all)
}

// spelled is a type as C++ writes it.
func spelled(name string, pointer, constant bool) string {
	if pointer {
		name += "*"
	}
	if constant {
		name = "const " + name
	}
	return name
}
