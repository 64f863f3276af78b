package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"

	"autotune/internal/cudafile"
)

// A trial is valid as long as all that it depends on is the same. A Kernel's digest covers what the
// bound template says, ReferenceDigest what the bound problem says. Both cover values and code: a
// comment in op.yaml or a kernel changes neither.

// CodeDigits is how many digits of a kernel's digest depend on its code alone. Some shipped recordings have no others.
const CodeDigits = 16

// Digest identifies the kernel: its first CodeDigits digits what a compiler sees, the
// others how it is launched as well, and with which tensors of its own.
func (k Kernel) Digest() string {
	code := k.codeDigest()
	return code[:CodeDigits] + digestOf(code, canonical(k.Launches), canonical(statements(k.Workspaces)))[CodeDigits:]
}

// codeDigest identifies what a compiler sees: kernels with one digest compile to one code.
func (k Kernel) codeDigest() string {
	var parts []string
	for _, entry := range k.Launches.Entries() {
		parts = append(parts, "entry", entry)
	}
	parts = append(parts, "source", cudafile.Squeeze(k.Source))
	for _, name := range slices.Sorted(maps.Keys(k.Includes)) {
		parts = append(parts, "include", name, cudafile.Squeeze(k.Includes[name]))
	}
	for _, m := range k.Macros {
		parts = append(parts, "macro", m.Name, m.Value)
	}
	for _, flag := range k.Flags {
		parts = append(parts, "flag", flag)
	}
	return digestOf(parts...)
}

func digestOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		io.WriteString(h, strconv.Itoa(len(part))+":"+part) // a hash's Write does not fail
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical writes plain data, the same data always alike.
func canonical(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data without floating-point numbers is JSON
	}
	return string(raw)
}

// problemStatement is all of a bound problem that trials depend on, beside its kernels and files. A
// template's own workspaces belong to its kernels.
type problemStatement struct {
	Math          string
	Arguments     []argumentStatement
	Inputs        []string // distributions: the search's, and those of the gates
	Deterministic bool
	Bytes, Flops  int64 // the roofline, which ends a search
}

// argumentStatement is an argument with its numbers as text, which has room for all of them.
type argumentStatement struct {
	Name, Symbol string
	Role         Role
	Type         Type
	Shape        []int64
	Order        []int  `json:",omitempty"`
	Value        string // of a scalar
	Scale        string
	Tolerance    [2]string
	Fill         *fillStatement
}

type fillStatement struct {
	Distribution, Kernel, File string
	Numbers                    []string
}

func exactly(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func statements(arguments []Argument) []argumentStatement {
	var all []argumentStatement
	for _, a := range arguments {
		s := argumentStatement{
			Name: a.Name, Symbol: a.Symbol, Role: a.Role, Type: a.Type, Shape: a.Shape, Order: a.Order, Scale: exactly(a.Scale),
			Tolerance: [2]string{exactly(a.ATol), exactly(a.RTol)},
		}
		if a.Role == Scalar {
			s.Value = a.Value.String()
		}
		if f := a.Fill; f != nil {
			s.Fill = &fillStatement{Distribution: f.Distribution, Kernel: f.Kernel, File: f.File}
			for _, x := range f.Numbers {
				s.Fill.Numbers = append(s.Fill.Numbers, exactly(x))
			}
		}
		all = append(all, s)
	}
	return all
}

// SourceDigest identifies the sources of all of the operator's kernels, the reference's too: it
// distinguishes two folders with operators of one name, and an operator before and after an edit.
func (o *Operator) SourceDigest() string {
	h := sha256.New()
	for _, s := range o.sources() {
		k := Kernel{Template: s.name, Launches: Launches{{Entry: s.name}}, Source: s.Text, Includes: s.Includes}
		io.WriteString(h, k.codeDigest()) // a hash's Write does not fail
	}
	if o.Answers != nil {
		io.WriteString(h, o.Answers.Python.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ReferenceDigest identifies all that the problem's trials are made with and judged by: its tensors, scalars,
// distributions, tolerances and cost, the reference, and what fills tensors and compares them where the operator has
// its own way. It reads the problem's data files.
func (p *Problem) ReferenceDigest() (string, error) {
	shared := slices.DeleteFunc(slices.Clone(p.Arguments), func(a Argument) bool { return a.Owner != "" })
	parts := []string{"problem", canonical(problemStatement{
		Math: p.Math, Arguments: statements(shared), Inputs: p.Operator.Inputs, Deterministic: p.Operator.Deterministic,
		Bytes: p.Bytes, Flops: p.Flops,
	})}
	if p.Operator.Answers == nil {
		k, err := p.Reference()
		if err != nil {
			return "", err
		}
		parts = append(parts, k.Digest())
	}
	for _, f := range p.Fillings() {
		parts = append(parts, "fill", f.Kernel.Digest())
	}
	if k, ok := p.Comparing(); ok {
		parts = append(parts, "compare", k.Digest())
	}
	if a := p.Operator.Answers; a != nil {
		parts = append(parts, "python", a.Python.Text)
	}
	for _, name := range sorted(p.Operator.Data) {
		digest, err := p.Operator.Data[name].Digest()
		if err != nil {
			return "", err
		}
		parts = append(parts, "data", name, digest)
	}
	return digestOf(parts...), nil
}
