package packer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"autotune/device/compile"
	"autotune/internal/cubin"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/pack"
	"autotune/space/expr"
	"autotune/tuner/cudasource"
	"autotune/tuner/family"
)

// Family is a family to pack, with its operator and the kernels of its entries.
type Family struct {
	*family.Family
	Operator *operator.Operator
	Kernels  []family.Kernel
}

// FamilyOf finds the kernels of a family, or returns cudasource.ErrSearchAgain if the operator changed after the
// search.
func FamilyOf(f *family.Family, op *operator.Operator) (Family, error) {
	kernels, err := f.Kernels(op)
	return Family{f, op, kernels}, err
}

// families describes a family once for each architecture.
func (p *Packed) families(f Family, archs []string, seen map[string]bool) (tasks []*task, err error) {
	if why := f.notPacked(); why != "" {
		p.Notices = append(p.Notices, fmt.Sprintf("%s is left out: %s", f, why))
		return nil, nil
	}
	of := found{what: f.String(), problem: f.String(), target: f.Target, device: f.Device, unserved: f.unserved}
	if archs, err = p.targets(of, archs, seen); err != nil {
		return nil, err
	}
	for _, arch := range archs {
		d, more, err := p.family(f, arch)
		if err != nil {
			return nil, err
		}
		if of.measured(arch) {
			d.Regret = &pack.Regret{HeldOut: slowdown(f.Regret.Score), Samples: slowdown(f.Regret.Samples)}
		}
		p.Families, tasks = append(p.Families, d), append(tasks, more...)
	}
	return tasks, nil
}

// notPacked returns why a family cannot be packed, or "" if it can. A family cannot be packed if a derived value
// depends on the GPU or the math mode, since a loader may use another GPU or math mode than the search. A family with a
// floating-point scalar that depends on the shape cannot be packed, since loaders compute with integers.
func (f Family) notPacked() string {
	for _, d := range f.Operator.Derived {
		for _, name := range d.Formula.Code().Names() {
			if name == "arch" || name == "math" {
				return fmt.Sprintf("its derived value `%s` depends on `%s`", d.Name, name)
			}
		}
	}
	for _, k := range f.Kernels {
		for _, s := range k.Formulas.Scalars {
			if _, ok := bitsOf(k.Problem, s); !ok {
				return fmt.Sprintf("the scalar `%s` is of floating point, and %s depends on the shape", s.Name, s.Formula.Text)
			}
		}
	}
	return ""
}

// bitsOf returns a formula for the bits of a scalar as an integer. ok is false if no integer formula computes the bits.
func bitsOf(p *operator.Problem, s operator.Definition) (d pack.Definition, ok bool) {
	d = pack.Definition{Name: s.Name, Value: formula(s.Formula)}
	a := p.Arguments[slices.IndexFunc(p.Arguments, func(a operator.Argument) bool { return a.Name == s.Name })]
	if root := s.Formula.Code().Root(); root.Op == expr.OpConst {
		a.Value = root.Value
		text := strconv.FormatInt(int64(a.Bits()), 10)
		if a.Bits() == 1<<63 { // a literal cannot express -2^63
			text = "-9223372036854775807 - 1"
		}
		d.Value.Expr, ok = expr.MustParse(text), true
	}
	return d, ok || a.Type.Kind() != operator.Floating
}

// unserved returns a template of the family that an architecture cannot run, or "" if it can run them all.
func (f Family) unserved(arch string) (string, error) {
	for i, k := range f.Kernels {
		limits := k.Problem.Limits
		limits.Target = arch
		p, err := f.Operator.Bind(f.Request(k.Problem.Shape), limits)
		if err != nil || !p.Admits(f.Entries[i].Configuration) {
			return k.Template, nil
		}
	}
	return "", nil
}

// family describes a family for an architecture.
func (p *Packed) family(f Family, arch string) (*pack.Family, []*task, error) {
	var evidence bytes.Buffer
	if err := family.WriteJSON(&evidence, []*family.Family{f.Family}); err != nil {
		return nil, nil, err
	}
	d := &pack.Family{Range: [][]pack.Span{}, Variants: []*pack.Variant{}, Tuned: pack.Tuned{
		Operator: f.Operator.Name, Problem: f.String(), Values: map[string]expr.Value{}, Math: f.Math, Auto: f.MathBy != "",
		Target: arch, Device: f.Device.Name, Evidence: evidence.Bytes(),
	}}
	shapes, err := family.ParseShapes(f.Shapes)
	if err != nil {
		return nil, nil, err
	}
	for _, extent := range shapes {
		d.Range = append(d.Range, lists.Of(extent, func(s family.Span) pack.Span { return pack.Span{s.Low, s.High} }))
	}
	tree, err := json.Marshal(f.Tree) // a pack's tree has the same JSON
	if err == nil {
		err = json.Unmarshal(tree, &d.Tree)
	}
	if err != nil {
		return nil, nil, err
	}
	var tasks []*task
	for i, k := range f.Kernels {
		v, err := p.variant(k, arch)
		err = cmp.Or(err, p.parameters(k.Problem, d.Values))
		if err != nil {
			return nil, nil, err
		}
		d.Variants = append(d.Variants, v)
		take := func(b *compile.Binary, by string) (err error) {
			name(v.Launches, b)
			d.Compiler, p.files[v.File] = by, b.Code
			v.Sizes.At, err = sizesAt(b.Code, k.Sizes)
			return err
		}
		tasks = append(tasks, taskOf(k.Kernel, k.Problem, f.Entries[i].Configuration, arch, take))
	}
	return d, tasks, nil
}

// variant describes the kernel of a family's entry for an architecture.
func (p *Packed) variant(k family.Kernel, arch string) (*pack.Variant, error) {
	source, err := cudasource.Inline(k.File, k.Source, k.Includes, k.Macros)
	if err != nil {
		return nil, err
	}
	stem := k.Operator + "-" + k.Digest()[:12]
	v := &pack.Variant{
		Code: pack.Code[pack.Formula]{
			File: "kernels/" + stem + "-" + arch + ".cubin", Source: "sources/" + stem + ".cu",
			Launches: []openLaunch{}, Workspaces: definitions(k.Formulas.Workspaces),
		},
		Define: definitions(k.Formulas.Define), Where: formulas(k.Formulas.Where),
	}
	p.files[v.Source] = []byte(cudasource.Defines(k.Macros) + source)
	v.Sizes.Names = []string{}
	for _, s := range k.Sizes {
		v.Sizes.Names = append(v.Sizes.Names, s.Name)
	}
	for _, s := range k.Formulas.Scalars {
		bits, _ := bitsOf(k.Problem, s)
		v.Scalars = append(v.Scalars, bits)
	}
	for _, l := range k.Formulas.Launches {
		v.Launches = append(v.Launches, launchOf(k.Problem, l))
	}
	return v, nil
}

type openLaunch = pack.LaunchOf[pack.Formula]

func launchOf(p *operator.Problem, l operator.LaunchSpec) openLaunch {
	three := func(f [3]operator.Formula) [3]pack.Formula { return [3]pack.Formula(formulas(f[:])) }
	made := openLaunch{
		Entry: l.Entry.Text, Grid: three(l.Grid), Block: three(l.Block), SharedBytes: formula(l.Shared),
		Cooperative: holds(l.Cooperative), Dependent: holds(l.Dependent), Arguments: []string{},
	}
	if l.When != nil {
		when := formula(*l.When)
		made.When = &when
	}
	if l.Cluster != nil {
		made.Cluster = three(*l.Cluster)
	}
	for _, i := range operator.Passed(p.Arguments, operator.Launch{Arguments: l.Arguments}) {
		made.Arguments = append(made.Arguments, p.Arguments[i].Name)
	}
	for _, m := range l.Maps {
		made.Maps = append(made.Maps, pack.TensorMap[pack.Formula]{At: m.At, Words: formulas(m.Words[:])})
	}
	return made
}

// holds reports whether a formula is a constant that counts as true.
func holds(f operator.Formula) bool { return f.Code() != nil && f.Code().Root().Value.Truth() }

func formulas(list []operator.Formula) []pack.Formula {
	return append([]pack.Formula{}, lists.Of(list, formula)...)
}

func definitions(list []operator.Definition) []pack.Definition {
	return append([]pack.Definition{}, lists.Of(list, func(d operator.Definition) pack.Definition {
		return pack.Definition{Name: d.Name, Value: formula(d.Formula)}
	})...)
}

func slowdown(s family.Score) pack.Slowdown {
	return pack.Slowdown{Worst: s.Worst, Mean: s.Mean, Of: s.Of}
}

// sizesAt returns the offset in a cubin of the sizes that its kernel reads at run time. At the returned offset, a
// loader writes a problem's sizes into a copy of the cubin, which the loader need not parse.
func sizesAt(code []byte, sizes []operator.Size) (int64, error) {
	if len(sizes) == 0 {
		return 0, nil
	}
	for _, s := range sizes {
		if s.Type != operator.IntSize {
			return 0, fmt.Errorf("its kernel reads `%s` when it runs, which is not an integer; a pack's kernels read only integers", s.Name)
		}
	}
	return cubin.Variable(code, operator.SizesSymbol, 4*len(sizes))
}
