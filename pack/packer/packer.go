// Package packer writes packs: it compiles winners and general kernels, describes them in a manifest, and adds loaders
// for programs in C and Python.
//
// The same winners, compiler and version of autotune always produce the same pack, byte for byte. Package pack reads
// the packs that package packer writes.
package packer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/compile"
	"autotune/operator"
	"autotune/pack"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/cudasource"
)

// Options say what a pack is called, which tool writes it and which architectures it is compiled for.
type Options struct {
	Name  string // the pack's name, which checkName must allow
	Tool  string
	Archs []string // architectures, or nil for each winner's own
}

// Packed is a complete pack in memory, ready to be written.
type Packed struct {
	pack.Manifest
	files   map[string][]byte
	Notices []string // what was left out of the pack, and why
}

// Make compiles winners and families, and describes them in a manifest. Of several winners or families for one
// problem, device and architecture, Make takes the first.
func Make(ctx context.Context, compiler compile.Compiler, winners []cudasource.Winner, families []Family, o Options) (*Packed, error) {
	if err := checkName(o.Name); err != nil {
		return nil, err
	}
	p, operators := empty(o.Name, o.Tool), map[string]*operator.Operator{}
	var tasks []*task
	seen := map[string]bool{}
	for _, w := range fixedFirst(winners) {
		if !p.packs(w.Problem.Operator, operators) {
			continue
		}
		entries, err := p.entries(w, o.Archs, seen)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Problem, err)
		}
		tasks = append(tasks, entries...)
		tasks = append(tasks, p.generals(w.Problem, seen)...)
	}
	for _, f := range families {
		if !p.packs(f.Operator, operators) {
			continue
		}
		entries, err := p.families(f, o.Archs, seen)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		tasks = append(tasks, entries...)
		for _, k := range f.Kernels {
			tasks = append(tasks, p.generals(k.Problem, seen)...)
		}
	}
	if len(tasks) == 0 {
		return nil, errors.New(strings.Join(append([]string{"there is nothing to pack"}, p.Notices...), "; "))
	}
	if err := compileAll(ctx, compiler, tasks); err != nil {
		return nil, err
	}
	maps.DeleteFunc(operators, func(_ string, o *operator.Operator) bool { return o == nil })
	return p, p.finish(operators)
}

// packs reports whether an operator can be packed. At its first call for an operator, packs adds the operator's
// description to the manifest, or a notice that says why the operator cannot be packed.
func (p *Packed) packs(o *operator.Operator, kept map[string]*operator.Operator) bool {
	if known, asked := kept[o.Name]; asked {
		return known != nil
	}
	o = o.Plain()
	err := p.describe(o)
	if kept[o.Name] = o; err != nil {
		p.Notices = append(p.Notices, fmt.Sprintf("%s is left out: %v", o.Name, err))
		kept[o.Name] = nil
	}
	return err == nil
}

// fixedFirst stably moves winners that read dimensions at run time behind those compiled for fixed shapes.
func fixedFirst(winners []cudasource.Winner) []cudasource.Winner {
	sorted := slices.Clone(winners)
	slices.SortStableFunc(sorted, func(a, b cudasource.Winner) int {
		return cmp.Compare(min(1, len(a.Problem.Free)), min(1, len(b.Problem.Free)))
	})
	return sorted
}

func empty(name, tool string) *Packed {
	p := &Packed{files: map[string][]byte{}}
	p.Schema, p.Name, p.Tool = pack.Schema, name, tool
	p.Operators, p.Entries, p.General, p.Types = []*pack.Operator{}, []*pack.Entry{}, []*pack.General{}, map[string]int64{}
	return p
}

// task is a kernel to compile, and the function that takes its binary and the compiler's version.
type task struct {
	what    string
	request compile.Request
	archs   []string // the first one that the compiler supports is used
	take    func(b *compile.Binary, by string) error
	binary  *compile.Binary
}

func taskOf(k operator.Kernel, p *operator.Problem, c space.Configuration, arch string, take func(*compile.Binary, string) error) *task {
	request := compile.Request{Kernel: k, Arch: arch, Problem: p, Configuration: c}
	return &task{what: p.String(), request: request, archs: []string{arch}, take: take}
}

func compileAll(ctx context.Context, compiler compile.Compiler, tasks []*task) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, compiler.Workers()))
	for _, t := range tasks {
		group.Go(func() (err error) {
			for _, t.request.Arch = range t.archs {
				if t.binary, err = compiler.Compile(ctx, t.request); !errors.Is(err, compile.ErrArch) {
					break
				}
			}
			if err != nil {
				return fmt.Errorf("compile %s for %s: %w", t.what, t.request.Arch, err)
			}
			return nil
		})
	}
	err := group.Wait()
	for _, t := range tasks {
		if err != nil {
			return err
		}
		if err = t.take(t.binary, compiler.Version()+" for "+t.request.Arch); err != nil {
			err = fmt.Errorf("%s: %w", t.what, err)
		}
	}
	return err
}

// found holds the properties of a winner or a family by which the method targets chooses architectures to compile for.
type found struct {
	what, problem string // text for notices; equal for entries of one problem
	target        string // the architecture of the search
	device        device.Info
	// unserved returns a template that an architecture cannot run, or "" if it can run all templates.
	unserved func(arch string) (template string, err error)
}

// measured reports whether the search measured times on a GPU of this architecture.
func (f found) measured(arch string) bool {
	return f.device.Kind.Properties().Caveat == "" && arch == f.target
}

// targets returns the architectures to compile for: those that the user named or else the search's own. targets omits
// architectures in seen, which have the kernel already, and architectures that cannot run the kernel.
func (p *Packed) targets(f found, named []string, seen map[string]bool) (archs []string, err error) {
	if len(named) == 0 {
		if f.target == "" || !f.measured(f.target) {
			return nil, fmt.Errorf("it was chosen on %s, which has no architecture to compile for; name one with --arch",
				f.device.Name)
		}
		named = []string{f.target}
	}
	for _, arch := range named {
		template, key := "", strings.Join([]string{f.problem, arch, f.device.Name}, "|")
		if arch != f.target {
			if template, err = f.unserved(arch); err != nil {
				return nil, err
			}
		}
		switch {
		case template != "":
			p.Notices = append(p.Notices, fmt.Sprintf("%s: template %s does not serve %s", f.what, template, arch))
		case !seen[key]:
			archs, seen[key] = append(archs, arch), true
		}
	}
	return archs, nil
}

// entries adds a manifest entry for a winner and each architecture.
func (p *Packed) entries(w cudasource.Winner, archs []string, seen map[string]bool) (tasks []*task, err error) {
	text, _, _ := strings.Cut(w.Problem.String(), " free=")
	f := found{
		what: w.Problem.String(), problem: text + "|" + w.Problem.Math, target: w.Best.Target, device: w.Best.Device,
	}
	f.unserved = func(arch string) (string, error) {
		served, err := w.ServedBy(arch)
		if served {
			return "", err
		}
		return w.Kernel.Template, err
	}
	if archs, err = p.targets(f, archs, seen); err != nil {
		return nil, err
	}
	for _, arch := range archs {
		e, err := p.entry(w, arch)
		if err != nil {
			return nil, err
		}
		if f.measured(arch) {
			t := w.Best.Time
			e.Time = &pack.Time{Median: t.Median, CI95: t.CI95, Samples: t.Samples}
		}
		take := func(b *compile.Binary, by string) error {
			name(e.Launches, b)
			e.Compiler, p.files[e.File] = by, b.Code
			return nil
		}
		tasks = append(tasks, taskOf(w.Kernel, w.Problem, w.Best.Configuration, arch, take))
	}
	return tasks, nil
}

// name replaces the kernels' names in launches by the symbols that the kernels have in a binary.
func name[N comparable](launches []pack.LaunchOf[N], b *compile.Binary) {
	for i := range launches {
		launches[i].Entry = b.Symbol(launches[i].Entry)
	}
}

// entry returns the manifest entry for a winner and an architecture.
func (p *Packed) entry(w cudasource.Winner, arch string) (*pack.Entry, error) {
	var source, evidence bytes.Buffer
	if err := cmp.Or(w.WriteCUDA(&source), w.Best.WriteJSON(&evidence)); err != nil {
		return nil, err
	}
	stem := w.Problem.Operator.Name + "-" + w.Kernel.Digest()[:12]
	e := &pack.Entry{Tuned: pack.Tuned{
		Operator: w.Problem.Operator.Name, Problem: w.Problem.String(), Values: map[string]expr.Value{}, Math: w.Problem.Math,
		Auto: w.Best.Problem.MathBy != "", Target: arch, Device: w.Best.Device.Name, Evidence: evidence.Bytes(),
	}, Code: pack.Code[int64]{File: "kernels/" + stem + "-" + arch + ".cubin", Source: "sources/" + stem + ".cu", Workspaces: []pack.Named[int64]{}}}
	p.files[e.Source] = source.Bytes()
	for _, name := range w.Problem.Operator.Shape {
		e.Values[name] = w.Problem.Values[name]
	}
	if err := p.parameters(w.Problem, e.Values); err != nil {
		return nil, err
	}
	for _, l := range w.Kernel.Launches {
		launch := pack.Launch{
			Entry: l.Entry, Grid: l.Grid, Block: l.Block, SharedBytes: l.SharedBytes, Cluster: l.Cluster,
			Cooperative: l.Cooperative, Dependent: l.Dependent, Arguments: []string{},
		}
		for at, i := range operator.Passed(w.Problem.Arguments, l) {
			a := w.Problem.Arguments[i]
			launch.Arguments = append(launch.Arguments, a.Name)
			if m := l.MapAt(at); m != nil {
				launch.Maps = append(launch.Maps, pack.TensorMap[int64]{At: at, Words: m.Words[:]})
			}
			switch known := func(n pack.Named[int64]) bool { return n.Name == a.Name }; {
			case slices.ContainsFunc(e.Workspaces, known), slices.ContainsFunc(e.Scalars, known):
			case a.Role == operator.Workspace:
				e.Workspaces = append(e.Workspaces, pack.Named[int64]{Name: a.Name, Value: a.Bytes()})
			case a.Role == operator.Scalar:
				e.Scalars = append(e.Scalars, pack.Named[int64]{Name: a.Name, Value: int64(a.Bits())})
			}
		}
		e.Launches = append(e.Launches, launch)
	}
	p.Entries = append(p.Entries, e)
	return e, nil
}

// describe adds an operator's description to the manifest.
func (p *Packed) describe(o *operator.Operator) error {
	d := &pack.Operator{
		Name: o.Name, Summary: o.Summary, Shape: o.Shape, Parameters: []pack.Parameter{}, Derived: []pack.Definition{},
		Requires: []pack.Requirement{}, Tensors: []pack.TensorSpec{}, Math: o.MathModes,
		MathAuto: formula(o.MathAuto),
	}
	if o.MathAuto.Code() == nil {
		d.MathAuto = pack.Formula{Expr: expr.MustParse(strconv.Quote(o.MathModes[0]))}
	}
	for _, s := range o.Parameters {
		parameter, err := describeParameter(o, s)
		if err != nil {
			return err
		}
		d.Parameters = append(d.Parameters, parameter)
		if s.Type == operator.ExpressionParameter {
			d.Derived = append(d.Derived, unsaid(s)...)
		}
	}
	for _, v := range o.Derived {
		d.Derived = append(d.Derived, pack.Definition{Name: v.Name, Value: formula(v.Formula)})
	}
	for _, r := range o.Requires {
		d.Requires = append(d.Requires, pack.Requirement{That: formula(r.That), Because: r.Because.Text})
	}
	for _, a := range o.Arguments {
		if a.Role == operator.Workspace || a.Role == operator.Scalar { // entries list their workspaces and scalars
			continue
		}
		if a.Symbol != "" {
			return fmt.Errorf("`%s` lies in constant memory, which packs do not fill; pass it as an argument", a.Name)
		}
		d.Tensors = append(d.Tensors, p.tensor(d, a))
	}
	p.Operators = append(p.Operators, d)
	return p.leftOut(o)
}

func (p *Packed) tensor(d *pack.Operator, a operator.ArgumentSpec) pack.TensorSpec {
	t := pack.TensorSpec{Name: a.Name, Role: string(a.Role), Type: string(a.Type), OrderBy: a.OrderBy, Shape: []pack.Formula{}}
	names := []string{t.Type}
	if a.TypeBy != "" {
		t.TypeBy = a.TypeBy
		i := slices.IndexFunc(d.Parameters, func(s pack.Parameter) bool { return s.Name == a.TypeBy })
		names = d.Parameters[i].Words
	}
	for _, name := range names {
		p.Types[name] = operator.Type(name).Bytes()
	}
	for _, f := range a.Shape {
		t.Shape = append(t.Shape, formula(f))
	}
	return t
}

func formula(f operator.Formula) pack.Formula { return pack.Formula{Expr: f.Code()} }

// describeParameter describes a parameter with the default of each component. If the default names another parameter
// with as many components, the default of each component is that parameter's component.
func describeParameter(o *operator.Operator, s operator.ParameterSpec) (pack.Parameter, error) {
	d := pack.Parameter{Name: s.Name, Type: string(s.Type), Min: s.Min, Max: s.Max}
	if s.Type == operator.ExpressionParameter {
		return expressionWord(s), nil
	}
	for _, choice := range s.Choices {
		if s.Type == operator.WordParameter {
			d.Words = append(d.Words, choice.String())
		} else {
			n, isInt := choice.AsInt()
			if !isInt {
				return d, fmt.Errorf("`%s` may be %s; where a pack's parameter has choices, they are integers", s.Name, choice)
			}
			d.Choices = append(d.Choices, n)
		}
	}
	for i, name := range s.Names {
		c := pack.Component{Name: name}
		if s.Default != nil {
			text := s.Default.Text
			for _, other := range o.Parameters {
				if len(other.Names) == len(s.Names) {
					text = regexp.MustCompile(`\b`+other.Name+`\b`).ReplaceAllString(text, other.Names[i])
				}
			}
			if s.Type == operator.WordParameter {
				text = s.Default.Code().Root().Value.Source()
			}
			parsed, err := expr.Parse(text)
			if err != nil {
				return d, fmt.Errorf("the default of `%s`: %w", s.Name, err)
			}
			c.Default.Expr = parsed
		}
		d.Components = append(d.Components, c)
	}
	return d, nil
}

// virtualArchs lists architectures for general kernels' PTX. A general kernel's PTX is compiled for the first
// architecture in virtualArchs that the compiler supports.
var virtualArchs = []string{"compute_75", "compute_80", "compute_90"}

// generals adds the general kernels for a problem's operator and type, one for each math mode.
func (p *Packed) generals(of *operator.Problem, seen map[string]bool) (tasks []*task) {
	o := of.Operator
	element, why := generalType(of)
	if why != "" {
		if !seen[o.Name] {
			p.Notices = append(p.Notices, fmt.Sprintf("%s has no general kernel, so other problems than those packed are refused: %s", o.Name, why))
		}
		seen[o.Name] = true
		return nil
	}
	for _, mode := range o.MathModes {
		entry := strings.Join(append([]string{o.Name, "general", mode, string(element)}, expressionDigests(of)...), "_")
		if seen[entry] {
			continue
		}
		seen[entry] = true
		problem := *of
		problem.Math = mode
		k, sizes := general(&problem, entry)
		g := &pack.General{
			Operator: o.Name, Math: mode, Type: string(element), File: "kernels/" + entry + ".ptx", Source: "sources/" + entry + ".cu",
			Entry: entry, Arguments: generalArguments(of), Sizes: sizes, Values: expressionValues(of),
		}
		p.General = append(p.General, g)
		tasks = append(tasks, &task{what: entry, request: compile.Request{Kernel: k}, archs: virtualArchs, take: func(b *compile.Binary, _ string) error {
			p.files[g.File] = b.Code
			if text, err := cudasource.Inline(k.File, k.Source, k.Includes, k.Macros); err == nil {
				p.files[g.Source] = []byte(cudasource.Defines(k.Macros) + text)
			}
			return nil
		}})
	}
	return tasks
}

// generalType returns the type of a problem's first input, or the reason why there is no general kernel.
func generalType(p *operator.Problem) (operator.Type, string) {
	if p.Operator.PyTorch == nil {
		return "", "its op.yaml has no key `pytorch`"
	}
	element := p.Arguments[0].Type
	for _, s := range p.Operator.Parameters {
		if s.Type == operator.WordParameter && p.Operator.TypeParameter() != s.Name && !slices.Contains(p.Operator.Orders(), s.Name) {
			return "", "`" + s.Name + "` is a word that is not the tensors' type"
		}
	}
	switch written := p.Output(); {
	case written.Role != operator.Output:
		return "", "`" + written.Name + "`, which is read and written, stands before any output"
	case written.Type != element && written.Type != operator.I64:
		return "", "`" + written.Name + "` is of another type than what is read"
	}
	return element, ""
}

// generalArguments returns the names of the tensors that a general kernel takes, with the first output last.
func generalArguments(p *operator.Problem) (names []string) {
	for _, a := range p.Arguments {
		if a.Owner == "" && a.Name != p.Output().Name && (a.Role.Filled() || a.Role == operator.Output) {
			names = append(names, a.Name)
		}
	}
	return append(names, p.Output().Name)
}

// general returns the kernel that calls an operator's general function for every element of the output, and the names
// of the sizes that the kernel reads at run time.
func general(p *operator.Problem, entry string) (operator.Kernel, []string) {
	source := p.Operator.PyTorch.General
	return operator.Kernel{
		Operator: p.Operator.Name, Template: "general", File: source.File,
		Source:   source.Text + cudasource.EveryElement(p, `extern "C" `, entry),
		Includes: source.Includes, Macros: cudasource.GeneralMacros(p), Launches: operator.Launches{{Entry: entry}},
	}, append(cudasource.Sizes(p), cudasource.Reals(p.Operator)...)
}

// finish sorts the manifest's lists, adds the loaders and records every file's size and digest.
func (p *Packed) finish(operators map[string]*operator.Operator) error {
	slices.SortFunc(p.Families, func(a, b *pack.Family) int {
		return cmp.Or(cmp.Compare(a.Problem, b.Problem), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Device, b.Device))
	})
	slices.SortFunc(p.Operators, func(a, b *pack.Operator) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Entries, func(a, b *pack.Entry) int {
		return cmp.Or(cmp.Compare(a.Problem, b.Problem), cmp.Compare(a.Math, b.Math), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Device, b.Device))
	})
	slices.SortFunc(p.General, func(a, b *pack.General) int { return cmp.Compare(a.Entry, b.Entry) })
	if err := p.addLoaders(operators, func(file string) []byte { return p.files[file] }); err != nil {
		return err
	}
	p.Files = map[string]pack.File{}
	for name, data := range p.files {
		p.Files[name] = fileOf(data)
	}
	text, err := written(p.Manifest)
	p.files[pack.ManifestFile] = text
	return err
}

func written(m pack.Manifest) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(m)
	return text.Bytes(), err
}
