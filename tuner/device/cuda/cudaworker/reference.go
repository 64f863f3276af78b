//go:build cuda

package cudaworker

import (
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"autotune/internal/output"
	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
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
	v, err := loadVariant(p.request.Reference)
	if err != nil {
		return badReference("cannot be loaded", err)
	}
	if status, message := unfit(v.needs, v.launch, p.gpu.bounds); status != "" {
		return badReference("cannot run on this GPU", errors.New(message))
	}
	if err := p.overwrite(p.references, poison); err != nil {
		return err
	}
	a := newArguments(p.parameters.values...)
	defer a.free()
	for i, address := range p.references {
		if p.request.Tensors[i].Role == operator.Output {
			a.values[i] = uint64(address)
		}
	}
	launch := func() error { return launchRow(v.function, v.launch, p.gpu.stream, a, 1) }
	ms, err := p.timeEach(1, launch, referenceLimit)
	if err == nil && ms[0] < briefReferenceMS && !p.request.KnownCeilings {
		ms, err = p.timeEach(referenceSamples, launch, referenceLimit)
	}
	if err != nil {
		return badReference("fails", err)
	}
	if !p.request.KnownCeilings {
		p.ceilings.ReferenceMS = trial.Median(ms)
	}
	v.unload()
	return nil
}

// badReference blames the reference for an error, which keeps its identity, unless
// the GPU is to blame.
func badReference(what string, err error) error {
	if isTrouble(err) {
		return fmt.Errorf("the reference %s: %w", what, err)
	}
	return errors.Join(&wire.Fault{Kind: wire.BadReference, Message: fmt.Sprintf("%s: %v", what, inWords(err))}, err)
}

// layout says where in the results each helper adds.
type layout struct {
	tensors []int // by tensor: an outcome for an output, else a sum; nothing where there are no elements
	hits    int
	words   int
}

func (p *problem) layout() layout {
	var l layout
	for _, t := range p.request.Tensors {
		l.tensors = append(l.tensors, l.words)
		switch {
		case t.Elements == 0:
		case t.Role == operator.Output:
			l.words += outcomeWords
		default:
			l.words++
		}
	}
	l.hits = l.words
	l.words += 1 + p.zoneCount
	return l
}

// queueChecks queues all that looks at memory after a launch: the outputs,
// which lie in the given buffers, the inputs and the guard zones.
func (p *problem) queueChecks(l layout, outputs []cu.DevicePtr) error {
	if err := cu.MemsetD32Async(p.found, 0, int64(2*l.words), p.gpu.stream); err != nil {
		return err
	}
	at := func(word int) uint64 { return uint64(p.found) + uint64(8*word) }
	for i, t := range p.request.Tensors {
		var err error
		switch {
		case t.Elements == 0:
		case t.Role == operator.Output:
			err = p.run(p.kernels.compare, p.blocks(t.Elements), 1, uint64(outputs[i]), uint64(p.references[i]), uint64(t.Elements),
				floatBits(p.request.ATol), floatBits(p.request.RTol), at(l.tensors[i]))
		default:
			err = p.run(p.kernels.checksum, p.blocks(t.Elements), 1, uint64(p.tensors[i]), uint64(t.Elements), at(l.tensors[i]))
		}
		if err != nil {
			return err
		}
	}
	if p.zoneCount == 0 {
		return nil
	}
	return p.run(p.kernels.guardCheck, zoneBlocks, int64(p.zoneCount), uint64(p.zones), p.guard, at(l.hits))
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
	l := p.layout()
	if err := p.queueChecks(l, p.references); err != nil {
		return fmt.Errorf("look at the inputs and the reference's outputs: %w", err)
	}
	words, err := p.results(l)
	if err != nil {
		return fmt.Errorf("look at the inputs and the reference's outputs: %w", err)
	}
	p.sums = make([]uint64, len(p.request.Tensors))
	for i, t := range p.request.Tensors {
		switch found := words[l.tensors[i]:]; {
		case t.Elements == 0:
		case t.Role == operator.Output:
			o := outcomeFrom(found)
			if o.Unwritten > 0 {
				return &wire.Fault{Kind: wire.BadReference, Message: fmt.Sprintf("leaves %d of %s of %s unwritten, the first at %v",
					o.Unwritten, output.Count(t.Elements, "element"), t.Name, device.Coordinates(o.First, t.Shape))}
			}
			p.sums[i] = o.ReferenceSum
		default:
			p.sums[i] = found[0]
		}
	}
	return nil
}
