//go:build cuda

package cudaworker

import (
	"errors"
	"fmt"
	"math"

	"gorgonia.org/cu"

	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
)

// fillInputs writes anew what the operator's kernels read: of a tensor that they
// write too, the copy that it is restored from.
func (p *problem) fillInputs() error {
	for i, a := range p.request.Arguments {
		if !a.Role.Filled() || a.Elements == 0 || !a.Fill.Drawn() {
			continue
		}
		if err := p.fill(p.start(i), a, p.request.Fills[i]); err != nil {
			return fmt.Errorf("fill %s: %w", a.Name, err)
		}
	}
	return p.fillOwn()
}

func (p *problem) fill(address cu.DevicePtr, a operator.Argument, f elements.Fill) error {
	if elements.Typed(a) {
		return p.run(p.kernels.fillTyped, p.blocks(a), 1, uint64(address), uint64(a.Elements), typeNumber(a),
			uint64(f.Seed), uint64(f.Distribution), math.Float64bits(f.A), math.Float64bits(f.B))
	}
	return p.run(p.kernels.fill, p.blocks(a), 1, uint64(address), uint64(a.Elements),
		uint64(f.Seed), uint64(f.Distribution), floatBits(f.A))
}

func typeNumber(a operator.Argument) uint64 { return uint64(elements.TypeNumber(a.Type)) }

// start is where an argument's values before a launch are kept.
func (p *problem) start(argument int) cu.DevicePtr {
	if pristine := p.pristine[argument]; pristine != 0 {
		return pristine
	}
	return p.tensors[argument]
}

// restores tells whether a launch changes what it reads, so that no two may follow
// each other.
func (p *problem) restores() bool {
	for _, pristine := range p.pristine {
		if pristine != 0 {
			return true
		}
	}
	return false
}

// restore gives the tensors that are read and written, among buffers, what they hold
// before a launch.
func (p *problem) restore(buffers []cu.DevicePtr) error {
	for i, pristine := range p.pristine {
		if pristine == 0 {
			continue
		}
		a := p.request.Arguments[i]
		if err := cu.MemcpyDtoDAsync(buffers[i], pristine, a.Bytes(), p.gpu.stream); err != nil {
			return fmt.Errorf("restore %s: %w", a.Name, err)
		}
	}
	return nil
}

func (p *problem) restoreTensors() error { return p.restore(p.tensors) }

// preparation is what outputs and workspaces hold before a launch.
type preparation int

// The preparations, in the order in which launches take turns with them.
const (
	poisoned  preparation = iota // a NaN, or an integer, that no kernel writes
	untouched                    // what the launch before left, as when it is timed
	zeroed                       // zeros, and a large number around the tensors
	preparations
)

// prepare readies all that a variant writes, and all that it should not depend on,
// for a launch.
func (p *problem) prepare(how preparation) error {
	guard := uint64(guardNaN)
	if how == zeroed {
		guard = guardLarge
	}
	if guard != p.guard {
		p.guard = guard
		if err := p.fillGuards(); err != nil {
			return err
		}
	}
	if err := p.dirtyShared(); err != nil {
		return err
	}
	if err := p.restoreTensors(); err != nil {
		return err
	}
	switch how {
	case untouched:
		return nil
	case zeroed:
		return p.overwriteAll(func(operator.Type) uint64 { return 0 })
	default:
		return p.overwriteAll(elements.Poison)
	}
}

// overwriteAll sets all that a variant writes and does not read.
func (p *problem) overwriteAll(with func(operator.Type) uint64) error {
	return errors.Join(p.overwrite(operator.Output, p.tensors, with), p.overwrite(operator.Workspace, p.tensors, with))
}

// dirtyShared overwrites the shared memory of every multiprocessor: a block of
// the helper takes all of one's.
func (p *problem) dirtyShared() error {
	bytes := int64(p.gpu.bounds.MaxSharedPerBlock)
	a := newArguments(uint64(bytes / 4))
	defer a.free()
	return launchRow(p.kernels.dirtyShared, operator.Launch{
		Grid: [3]int64{int64(p.gpu.bounds.SMs), 1, 1}, Block: [3]int64{helperThreads, 1, 1}, SharedBytes: bytes,
	}, p.gpu.stream, a, 1)
}

// overwrite sets every element of the tensors of a role, in buffers that their sizes
// fit, to what with gives for its type.
func (p *problem) overwrite(role operator.Role, buffers []cu.DevicePtr, with func(operator.Type) uint64) error {
	for i, a := range p.request.Arguments {
		if a.Role != role || a.Elements == 0 {
			continue
		}
		if err := p.set(buffers[i], a, with(a.Type)); err != nil {
			return fmt.Errorf("overwrite %s: %w", a.Name, err)
		}
	}
	return nil
}

// set sets every element of a tensor. Both words of an element of 64 bits are the same.
func (p *problem) set(address cu.DevicePtr, a operator.Argument, bits uint64) error {
	switch a.Type.Bytes() {
	case 1:
		return cu.MemsetD8Async(address, byte(bits), a.Elements, p.gpu.stream)
	case 2:
		return cu.MemsetD16Async(address, uint16(bits), a.Elements, p.gpu.stream)
	default:
		return cu.MemsetD32Async(address, uint(uint32(bits)), a.Bytes()/4, p.gpu.stream)
	}
}
