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

// A recorded trial is valid as long as nothing changes that the trial's outcome depends on. A kernel's Digest covers
// the bound template, and ReferenceDigest covers the bound problem. Digests cover values and code, so a comment in
// op.yaml or in a kernel changes no digest.

// CodeDigits is the number of leading digits of a kernel's digest that depend only on its code. Some shipped recordings
// contain only the first CodeDigits digits of a digest.
const CodeDigits = 16

// Digest identifies the kernel. The first CodeDigits digits of a digest depend only on what a compiler sees. The digits
// of a digest after the first CodeDigits also depend on how the kernel is launched and on its workspaces.
func (k Kernel) Digest() string {
	code := k.codeDigest()
	return code[:CodeDigits] + digestOf(code, canonical(k.Launches), canonical(statements(k.Workspaces)))[CodeDigits:]
}

// codeDigest identifies the compiler's input: kernels with the same digest compile to the same code.
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
		io.WriteString(h, strconv.Itoa(len(part))+":"+part) // writing to a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical encodes plain data; equal data have equal encodings.
func canonical(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data without floating-point numbers is JSON
	}
	return string(raw)
}

// problemStatement contains everything in a bound problem that trials depend on, except kernels and files. The
// problem's statement omits the workspaces of templates, which the digest of each kernel covers.
type problemStatement struct {
	Math          string
	Arguments     []argumentStatement
	Inputs        []string // distributions: the search's, and those of the gates
	Deterministic bool
	Bytes, Flops  int64 // for the roofline, which can end a search
}

// argumentStatement describes an argument, with numbers as text so that none is rounded.
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
			s.Fill = &fillStatement{Distribution: f.Distribution, Kernel: f.Kernel}
			for _, x := range f.Numbers {
				s.Fill.Numbers = append(s.Fill.Numbers, exactly(x))
			}
		}
		all = append(all, s)
	}
	return all
}

// ReferenceDigest identifies everything that the problem's trials are run with and judged by: tensors, scalars,
// distributions, tolerances, cost, the reference, and the operator's own kernels that fill or compare tensors.
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
	return digestOf(parts...), nil
}
