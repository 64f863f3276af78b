package gpu

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"autotune/device/answers"
	"autotune/device/elements"
	"autotune/device/verify"
	"autotune/internal/lists"
	"autotune/internal/scratch"
	"autotune/operator"
)

// own holds the kernels of an operator that are not templates: kernels that fill tensors and one that compares outputs.
type own struct {
	gpu       *holding
	parts     verify.Parts
	fillings  []launch // by filling
	comparing launch
}

// seed and apart declare the last argument of an operator's own kernels: the seed of a kernel that fills tensors, and
// the result of a comparison kernel.
var (
	seed  = operator.Argument{Role: operator.Scalar, Type: operator.U32}
	apart = operator.Argument{Role: operator.InOut, Type: operator.F64}
)

func checkParts(d Driver, parts verify.Parts, arguments []operator.Argument) error {
	check := func(p verify.Part, takes []operator.Argument) error {
		if wrong := launchMismatch(d, p.Binary, p.Launches[0], takes); wrong != "" {
			return p.Blame("cannot be launched: %s: %s", p.File, wrong)
		}
		return nil
	}
	for _, f := range parts.Fillings {
		takes := lists.Of(f.Arguments, func(i int) operator.Argument { return arguments[i] })
		if err := check(f.Part, append(takes, seed)); err != nil {
			return err
		}
	}
	if parts.Comparison == nil {
		return nil
	}
	takes := lists.Of(verify.ComparisonArguments(arguments), func(passed verify.Passed) operator.Argument { return arguments[passed.Argument] })
	return check(parts.Comparison.Part, append(takes, apart))
}

func (o *own) load() (err error) {
	for _, f := range o.parts.Fillings {
		l, err := o.loadPart(f.Part)
		if err != nil {
			return err
		}
		o.fillings = append(o.fillings, l)
	}
	if c := o.parts.Comparison; c != nil {
		o.comparing, err = o.loadPart(c.Part)
	}
	return err
}

func (o *own) loadPart(p verify.Part) (launch, error) {
	v, err := load(o.gpu, p.Binary, p.Kernel)
	if err != nil {
		return launch{}, blame(p.Operator, p.Name, "cannot be loaded", err)
	}
	o.gpu.modules = append(o.gpu.modules, v.module)
	if message := unfit(v.launches[0].needs, v.launches[0].Launch, o.gpu.Bounds().Limits); message != "" {
		return launch{}, blame(p.Operator, p.Name, "cannot run on this GPU", errors.New(message))
	}
	return v.launches[0], nil
}

// compare queues the operator's comparison kernel, if any, on the outputs in the given buffers and the right answers.
func (o *own) compare(t *tensors, outputs []Address, apart Address) {
	if o.parts.Comparison == nil {
		return
	}
	passed := t.passed()
	var values []uint64
	for _, p := range verify.ComparisonArguments(t.arguments) {
		from := map[verify.Content][]Address{verify.Made: outputs, verify.Reference: t.references, verify.Before: t.pristine}[p.Content]
		if from == nil {
			values = append(values, passed[p.Argument])
		} else {
			values = append(values, uint64(from[p.Argument]))
		}
	}
	launchOnce(o.gpu, o.comparing.function, o.comparing.Launch, append(values, uint64(apart)))
}

// referenceLimit is the time limit of the operator's own kernels, which are written to be simple and may be slow.
const referenceLimit = 5 * time.Minute

// fillInputs writes all inputs anew. For a tensor that kernels write, fillInputs writes only the copy from which the
// tensor is restored.
func (p *prepared) fillInputs() error {
	p.drawInputs(p.fills)
	for i, f := range p.own.parts.Fillings {
		if err := p.fillBy(p.own.fillings[i], f); err != nil {
			return err
		}
	}
	return p.tensors.gpu.Err()
}

// drawInputs fills the random inputs, i.e. the inputs that neither a kernel of the operator nor a file fills.
func (p *prepared) drawInputs(fills []elements.Fill) {
	for i, a := range p.tensors.arguments {
		if !a.Role.Filled() || a.Elements == 0 || !a.Fill.Drawn() {
			continue
		}
		p.helpers.draw(p.tensors.start(i), a, fills[i])
		if p.changes == 0 {
			continue
		}
		for _, run := range elements.Changes(a, fills[i], p.changes) {
			part, fill := a, fills[i]
			part.Elements, fill.Seed = run.Count, run.Seed
			p.helpers.draw(p.tensors.start(i)+Address(run.First*a.Type.Bytes()), part, fill)
		}
	}
}

// fillBy launches a kernel that fills tensors. The guard zones show whether the kernel wrote outside of the tensors.
func (p *prepared) fillBy(l launch, f verify.Filling) error {
	t := &p.tensors
	for _, i := range f.Tensors {
		t.set(t.data[i], t.arguments[i], elements.Poison(t.arguments[i].Type))
	}
	passed := t.passed()
	values := lists.Of(f.Arguments, func(i int) uint64 { return passed[i] })
	values = append(values, uint64(p.fills[f.Tensors[0]].Seed))
	if err := t.gpu.Err(); err != nil {
		return err
	}
	work := func() { launchOnce(t.gpu, l.function, l.Launch, values) }
	if _, err := p.checks.each(1, nil, work, referenceLimit); err != nil {
		return blame(f.Part.Operator, f.Part.Name, "fails: "+f.File, err)
	}
	strays, err := p.checks.strays()
	if err != nil {
		return err
	}
	if strays != "" {
		p.checks.fillGuards()
		return f.Blame("is wrong: %s: %s", f.File, strays)
	}
	for _, i := range f.Tensors {
		if start := t.start(i); start != t.data[i] {
			t.gpu.Copy(start, t.data[i], t.arguments[i].Bytes())
		}
	}
	return nil
}

// addFolder makes the folder for the files of right answers, if the operator computes its answers in Python.
func (p *prepared) addFolder() (err error) {
	if p.problem.Operator.Answers != nil {
		p.folder, err = scratch.New("answers")
	}
	return err
}

func (p *prepared) removeFolder() error {
	if p.folder == nil {
		return nil
	}
	return p.folder.Close()
}

// takeAnswers runs the operator's Python file on the current inputs, and reads the right answers from files.
func (p *prepared) takeAnswers(ctx context.Context) error {
	q := answers.Question{Problem: p.problem, Inputs: p.inputs, Drawn: p.device.about.Compiler + p.device.Arch(), CacheDir: p.device.CacheDir, Write: p.writeInputs}
	if p.changes != 0 {
		q.CacheDir = "" // nobody needs the same changes again
	}
	if err := q.Answer(ctx, p.folder.Dir); err != nil {
		return err
	}
	for i, a := range p.problem.Arguments {
		name := answers.Name(a)
		if name == "" || p.tensors.references[i] == 0 {
			continue
		}
		if err := p.tensors.readFile(p.tensors.references[i], filepath.Join(p.folder.Dir, name), a); err != nil {
			return fmt.Errorf("read what is right for %s: %w", a.Name, err)
		}
	}
	if err := p.checks.learn(p.tensors.references); err != nil {
		return err
	}
	return p.checks.learnSizes(p.inputs.Distribution)
}

// writeInputs writes the tensors that a kernel reads into files of a folder.
func (p *prepared) writeInputs(_ context.Context, dir string) ([]string, error) {
	if err := p.tensors.gpu.Synchronize(); err != nil {
		return nil, err
	}
	files := make([]string, len(p.problem.Arguments))
	for i, a := range p.problem.Arguments {
		if !a.Role.Filled() || a.Elements == 0 {
			continue
		}
		files[i] = filepath.Join(dir, a.Name+".drawn")
		if err := p.tensors.writeFile(files[i], p.tensors.start(i), a); err != nil {
			return nil, err
		}
	}
	return files, nil
}
