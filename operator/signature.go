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

// A GPU does not check the types of a kernel's arguments, because all pointers look the same to it. The functions in
// this file read the parameters of kernels from the source and compare them with op.yaml.

// CheckSignatures returns a *tree.Error for the first kernel whose parameters do not match the operator's arguments.
// CheckSignatures does not check types that the source alone does not determine, such as those of C++ templates'
// parameters.
func (o *Operator) CheckSignatures() error {
	if faults := o.SignatureFaults(); len(faults) > 0 {
		return faults[0].Fault
	}
	return nil
}

// TemplateFault is a fault of a template or of the reference.
type TemplateFault struct {
	Template string // "reference" for the reference
	Fault    *tree.Error
}

// SignatureFaults returns the faults of all kernels that CheckSignatures would refuse.
func (o *Operator) SignatureFaults() (faults []TemplateFault) {
	add := func(template string, s Source, at cudafile.Place, message string) {
		if message != "" {
			where := tree.Position{File: path.Join(path.Dir(o.File), s.File), Line: at.Line, Column: at.Column}
			faults = append(faults, TemplateFault{template, &tree.Error{Position: where, Message: message}})
		}
	}
	if o.ReferenceTemplate == "" && o.Answers == nil {
		at, message := disagreement(kernelsNamed(cudafile.Kernels(o.Reference.Text), o.referenceEntry), passed(o, nil, nil))
		add("reference", o.Reference, at, message)
	}
	for _, t := range o.Templates {
		kernels := cudafile.Kernels(t.Source.Text)
		for i, entry := range t.entries() {
			defined, takes := kernelsNamed(kernels, entry), passed(o, t.Launches[i].Arguments, t.TensorMaps)
			at, message := disagreement(defined, takes)
			add(t.Name, t.Source, at, message)
			if i > 0 && !t.Launches[i].Dependent.Never() {
				at, message = readEarly(defined, takes)
				add(t.Name, t.Source, at, message)
			}
		}
	}
	return faults
}

// kernelsNamed returns all kernels with the given name; a file may define several that differ in their parameters.
func kernelsNamed(kernels []cudafile.Kernel, name string) []cudafile.Kernel {
	return lists.Where(kernels, func(k cudafile.Kernel) bool { return k.Name == name })
}

// mapRole is the role of an argument that is passed as a tensor map.
const mapRole Role = "tensor map"

// passed returns the arguments with the given names or, if names is nil, all arguments that a launch passes to kernels.
func passed(o *Operator, names []string, maps []*TensorMapSpec) []ArgumentSpec {
	if names == nil {
		return lists.Where(o.Arguments, func(a ArgumentSpec) bool { return a.Symbol == "" && a.Owner == "" })
	}
	return lists.Of(names, func(name string) ArgumentSpec {
		if slices.ContainsFunc(maps, func(m *TensorMapSpec) bool { return m.Name == name }) {
			return ArgumentSpec{Name: name, Role: mapRole}
		}
		return o.Arguments[o.argument(name)]
	})
}

// disagreement returns where and how a kernel's parameters differ from the operator's arguments. disagreement returns
// "" if the source does not determine the parameters, or defines several kernels of the same name.
func disagreement(defined []cudafile.Kernel, has []ArgumentSpec) (at cudafile.Place, message string) {
	if len(defined) != 1 || defined[0].Unclear || len(defined[0].Template) > 0 {
		return at, ""
	}
	k := defined[0]
	if n := len(k.Parameters); n != len(has) {
		takes := output.Count(n, "argument")
		return k.Place, fmt.Sprintf("the kernel `%s` takes %s, the operator has %d", k.Name, takes, len(has))
	}
	for i, p := range k.Parameters {
		a := has[i]
		if fits(p, a) {
			continue
		}
		return p.Place, fmt.Sprintf("argument %d, %s: the kernel `%s` takes %s, the operator has %s",
			i+1, a.Name, k.Name, spelled(p.Type, p.Pointer, p.Pointer && p.Const), a.inWords())
	}
	return at, ""
}

// readEarly returns the workspace that the compiler may load too early in a dependent launch: before the kernel waits
// for the launches that write the workspace. With __restrict__ the compiler assumes that no other kernel writes the
// workspace while this kernel runs.
func readEarly(defined []cudafile.Kernel, has []ArgumentSpec) (at cudafile.Place, message string) {
	for _, k := range defined {
		for i, p := range k.Parameters {
			if len(k.Parameters) == len(has) && has[i].Role == Workspace && p.Alone {
				return p.Place, fmt.Sprintf("argument %d, %s: the kernel `%s` begins before earlier launches have written "+
					"this workspace, and with __restrict__ the compiler may read it then; leave __restrict__ out",
					i+1, has[i].Name, k.Name)
			}
		}
	}
	return at, ""
}

func fits(p cudafile.Parameter, a ArgumentSpec) bool {
	element, _ := cudafile.Element(p.Type)
	known := slices.ContainsFunc(types, func(f typeFacts) bool { return f.cuda == element })
	switch {
	case p.Unclear:
		return true
	case a.Role == mapRole:
		return !known && !p.Pointer
	case !known && !p.Pointer: // a type that the file defines, which may also be a pointer
		return true
	case p.Pointer != (a.Role != Scalar) || p.Pointer && p.Const && a.Role == Output:
		return false
	}
	return !known || slices.ContainsFunc(a.Types, func(t Type) bool { return t.CUDA() == element })
}

// inWords describes an argument and its type in C++ for a message.
func (a ArgumentSpec) inWords() string {
	what := "a tensor"
	switch a.Role {
	case mapRole:
		return "a tensor map, which is const __grid_constant__ TensorMap"
	case Scalar:
		what = "a scalar"
	case Output:
		what = "an output"
	}
	spellings := lists.Of(a.Types, func(t Type) string { return spelled(t.CUDA(), a.Role != Scalar, false) })
	return fmt.Sprintf("%s of %s, which is %s", what, a.TypeText(), alternatives(spellings))
}

func spelled(name string, pointer, constant bool) string {
	if pointer {
		name += "*"
	}
	if constant {
		name = "const " + name
	}
	return name
}
