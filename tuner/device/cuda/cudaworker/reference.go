//go:build cuda

package cudaworker

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"gorgonia.org/cu"

	"autotune/internal/output"
	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// A reference faster than this is timed several times.
const (
	briefReferenceMS = 50
	referenceSamples = 5
)

// runReference computes the outputs that variants are compared with.
func (p *problem) runReference() error {
	v, err := p.loadVariant(p.request.Reference)
	if err != nil {
		return badReference("cannot be loaded", err)
	}
	var able trial.Outcome
	if !p.fit(v, &able) {
		return badReference("cannot run on this GPU", errors.New(able.Message))
	}
	// Two results that began with different integers tell which elements were never
	// written: no integer does that alone.
	if p.hasIntegers() {
		if _, err := p.launchReference(v, p.tensors, elements.Poison, 1); err != nil {
			return err
		}
	}
	ms, err := p.launchReference(v, p.references, referencePoison, 1)
	if err == nil && ms[0] < briefReferenceMS && !p.request.KnownCeilings {
		ms, err = p.launchReference(v, p.references, referencePoison, referenceSamples)
	}
	if err != nil {
		return err
	}
	if !p.request.KnownCeilings {
		p.ceilings.ReferenceMS = trial.Median(ms)
	}
	v.unload()
	return nil
}

// launchReference has the reference write some buffers, which are prepared for it,
// and times it.
func (p *problem) launchReference(v variant, buffers []cu.DevicePtr, with func(operator.Type) uint64, count int) ([]float64, error) {
	// The workspaces are the variants'.
	if err := errors.Join(p.overwrite(operator.Workspace, p.tensors, elements.Poison), p.overwrite(operator.Output, buffers, with)); err != nil {
		return nil, err
	}
	values := p.passed()
	for i, address := range buffers {
		if p.request.Arguments[i].Role.Compared() {
			values[i] = uint64(address)
		}
	}
	v.bind(values)
	restore := func() error { return p.restore(buffers) }
	ms, err := p.timeEach(count, restore, func() error { return p.launch(v, 1) }, referenceLimit)
	if err != nil {
		return nil, badReference("fails", err)
	}
	return ms, nil
}

// hasIntegers tells whether an output holds integers.
func (p *problem) hasIntegers() bool {
	return slices.ContainsFunc(p.request.Arguments, func(a operator.Argument) bool {
		return a.Role == operator.Output && a.Type.Kind() != operator.Floating
	})
}

// referencePoison is what the references hold before the reference runs: of integers
// another one than the variants' outputs.
func referencePoison(t operator.Type) uint64 {
	if t.Kind() == operator.Floating {
		return elements.Poison(t)
	}
	return ^elements.Poison(t)
}

// badReference blames the reference for an error.
func badReference(what string, err error) error { return badPart("the reference", what, err) }

// badPart blames a part of the operator for an error, which keeps its identity, unless
// the GPU is to blame.
func badPart(part, what string, err error) error {
	if isTrouble(err) {
		return fmt.Errorf("%s %s: %w", part, what, err)
	}
	return errors.Join(&wire.Fault{Kind: wire.BadReference, Part: part, Message: fmt.Sprintf("%s: %v", what, inWords(err))}, err)
}

// layout says where in the results each helper adds.
type layout struct {
	arguments []int // by argument: an outcome and a sum for what is compared, else a sum; nothing where nothing is looked at
	apart     int   // what the operator's own comparison gives
	hits      int
	words     int
}

func (p *problem) layout() layout {
	var l layout
	for _, a := range p.request.Arguments {
		l.arguments = append(l.arguments, l.words)
		switch {
		case !looked(a):
		case a.Role.Compared():
			l.words += outcomeWords + 1
		default:
			l.words++
		}
	}
	l.apart = l.words
	l.hits = l.apart + 1
	l.words = l.hits + 1 + p.zoneCount
	return l
}

// looked tells whether an argument's contents say anything after a launch.
func looked(a operator.Argument) bool { return a.Elements > 0 && a.Role != operator.Workspace }

// queueChecks queues all that looks at memory after a launch: the outputs,
// which lie in the given buffers, what must not have changed, and the guard zones.
func (p *problem) queueChecks(l layout, outputs []cu.DevicePtr) error {
	if err := cu.MemsetD32Async(p.found, 0, int64(2*l.words), p.gpu.stream); err != nil {
		return err
	}
	at := func(word int) uint64 { return uint64(p.found) + uint64(8*word) }
	for i, a := range p.request.Arguments {
		var err error
		switch {
		case !looked(a):
		case a.Role.Compared():
			err = p.compare(i, outputs[i], at(l.arguments[i]))
			if p.pristine[i] != 0 {
				err = errors.Join(err, p.checksum(a, p.pristine[i], at(l.arguments[i]+outcomeWords)))
			}
		default:
			err = p.checksum(a, p.tensors[i], at(l.arguments[i]))
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(p.checkGuards(at(l.hits)), p.compareOwn(outputs, at(l.apart)))
}

// checkGuards queues a look at the guard zones.
func (p *problem) checkGuards(hits uint64) error {
	if p.zoneCount == 0 {
		return nil
	}
	return p.run(p.kernels.guardCheck, zoneBlocks, int64(p.zoneCount), uint64(p.zones), p.guard, hits)
}

// compare queues the comparison of an argument, in a buffer, with its reference.
func (p *problem) compare(argument int, buffer cu.DevicePtr, outcome uint64) error {
	a, reference := p.request.Arguments[argument], p.references[argument]
	if a.Type == operator.F32 {
		return p.run(p.kernels.compare, p.blocks(a), 1, uint64(buffer), uint64(reference), uint64(a.Elements),
			floatBits(a.ATol), floatBits(a.RTol), outcome)
	}
	return p.run(p.kernels.compareTyped, p.blocks(a), 1, uint64(buffer), uint64(reference), uint64(a.Elements), typeNumber(a),
		math.Float64bits(a.ATol), math.Float64bits(a.RTol), outcome)
}

func (p *problem) checksum(a operator.Argument, buffer cu.DevicePtr, sum uint64) error {
	if a.Type == operator.F32 {
		return p.run(p.kernels.checksum, p.blocks(a), 1, uint64(buffer), uint64(a.Elements), sum)
	}
	return p.run(p.kernels.checksumTyped, p.blocks(a), 1, uint64(buffer), uint64(a.Bytes()), sum)
}

// results waits for the checks that were queued last and fetches what they found.
func (p *problem) results(l layout) ([]uint64, error) {
	done := p.gpu.events[2]
	if err := done.Record(p.gpu.stream); err != nil {
		return nil, err
	}
	if err := wait(done, helperLimit); err != nil {
		return nil, err
	}
	words := make([]uint64, l.words)
	if err := cu.MemcpyDtoH(unsafe.Pointer(&words[0]), p.found, 8*int64(l.words)); err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	return words, nil
}

// rememberSums keeps what inputs and references look like, and looks whether
// the reference wrote all of its outputs.
func (p *problem) rememberSums() error {
	outputs := p.references
	if p.hasIntegers() && p.hasReference() {
		outputs = p.tensors // where the reference wrote too
	}
	l := p.layout()
	if err := p.queueChecks(l, outputs); err != nil {
		return fmt.Errorf("look at the inputs and the reference's outputs: %w", err)
	}
	words, err := p.results(l)
	if err != nil {
		return fmt.Errorf("look at the inputs and the reference's outputs: %w", err)
	}
	p.sums = make([]sums, len(p.request.Arguments))
	for i, a := range p.request.Arguments {
		switch found := words[l.arguments[i]:]; {
		case !looked(a):
		case a.Role.Compared():
			o := outcomeFrom(a, found)
			if o.Unwritten > 0 && a.Role == operator.Output {
				return &wire.Fault{Kind: wire.BadReference, Message: fmt.Sprintf("leaves %d of %s of %s unwritten, the first at %v",
					o.Unwritten, output.Count(a.Elements, "element"), a.Name, device.Coordinates(o.First, a.Shape))}
			}
			p.sums[i] = sums{reference: o.ReferenceSum, pristine: found[outcomeWords]}
		default:
			p.sums[i].read = found[0]
		}
	}
	if apart, right := p.ownVerdict(l, words); !right {
		c := p.request.Comparing
		return &wire.Fault{Kind: wire.BadReference, Part: device.Comparison, Message: device.ComparesItself(c.File, apart, c.Bound)}
	}
	return nil
}
