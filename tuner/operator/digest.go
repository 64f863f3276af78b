package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// SourceDigest identifies the sources of all of the operator's kernels, the
// reference's too: it tells two folders with operators of one name apart, and an
// operator from what it was before an edit.
func (o *Operator) SourceDigest() string {
	h := sha256.New()
	put := func(name string, s Source) {
		digest := Kernel{Template: name, Launches: Launches{{Entry: name}}, Source: s.Text, Includes: s.Includes}.Digest()
		h.Write([]byte(digest)) // a hash's Write does not fail
	}
	put("reference", o.Reference)
	for _, t := range o.Templates {
		put(t.Name, t.Source)
	}
	for _, name := range sorted(o.FillKernels) {
		put("fill", o.FillKernels[name].Source)
	}
	if o.Compare != nil {
		put("compare", o.Compare.Source)
	}
	if o.Answers != nil && o.Answers.Python != nil {
		put("python", *o.Answers.Python)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ReferenceDigest identifies all that says what is right: the reference, and what fills
// tensors and compares them where the operator has its own way. It reads the problem's
// data files.
func (p *Problem) ReferenceDigest() (string, error) {
	var parts []string
	if p.Operator.Answers == nil {
		k, err := p.Reference()
		if err != nil {
			return "", err
		}
		parts = append(parts, k.Digest())
	}
	for _, a := range p.Arguments {
		if !a.Fill.Drawn() {
			parts = append(parts, "tensor", a.Name, a.Fill.Kernel, a.Fill.File)
		}
	}
	for _, f := range p.Fillings() {
		parts = append(parts, "fill", f.Kernel.Digest())
	}
	if k, ok := p.Comparing(); ok {
		parts = append(parts, "compare", k.Digest(), strconv.FormatFloat(p.Bound, 'g', -1, 64))
	}
	if a := p.Operator.Answers; a != nil {
		if a.Python != nil {
			parts = append(parts, "python", a.Python.Text)
		}
		for _, tensor := range sorted(a.Files) {
			parts = append(parts, "answer", tensor, a.Files[tensor])
		}
	}
	for _, name := range sorted(p.Operator.Data) {
		digest, err := p.Operator.Data[name].Digest()
		if err != nil {
			return "", err
		}
		parts = append(parts, "data", name, digest)
	}
	if len(parts) == 1 {
		return parts[0], nil // of a reference kernel alone
	}
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part) // a hash's Write does not fail
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
