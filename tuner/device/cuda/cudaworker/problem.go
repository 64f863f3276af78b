//go:build cuda

package cudaworker

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// problem is a session's state on the GPU: tensors between guard zones, the
// reference's outputs, and what all of it looked like before any variant ran.
type problem struct {
	gpu     *processor
	request *wire.Open
	memory  memory

	module  cu.Module
	kernels helpers

	allocated  []cu.DevicePtr // to free
	tensors    []cu.DevicePtr // 0 for one without elements
	references []cu.DevicePtr // 0 for what is no output
	flush      cu.DevicePtr
	zones      cu.DevicePtr // table of guard zones
	zoneCount  int
	guard      uint64       // the word that the guard zones hold
	found      cu.DevicePtr // words that the helpers add to, see layout
	parameters *arguments   // of a variant

	sums     []uint64 // by tensor: of an output's reference, else of the tensor
	ceilings device.Ceilings
}

// helpers are the functions of kernels.cu.
type helpers struct {
	fill, checksum, compare, guardFill, guardCheck, dirtyShared cu.Function
}

const (
	poison         = 0x7fbadbad // POISON of kernels.cu
	guardNaN       = 0x7fedface
	guardLarge     = 0x7149f2ca // 1e30
	helperThreads  = 256
	helperLimit    = time.Minute     // for the helpers' own kernels
	referenceLimit = 5 * time.Minute // a reference is plain, and slow
)

// openProblem puts a problem's tensors in place.
func openProblem(g *processor, o *wire.Open) (*problem, error) {
	p := &problem{gpu: g, request: o, guard: guardNaN, memory: planMemory(o.Tensors, g.bounds.L2Bytes)}
	for _, step := range []func() error{
		p.loadHelpers, p.checkMemory, p.measureCopy, p.allocate,
		p.fillGuards, p.fillInputs, p.runReference, p.rememberSums,
	} {
		if err := step(); isSticky(err) {
			return nil, err // the context is lost with all it holds
		} else if err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

func (p *problem) loadHelpers() error {
	var err error
	if p.module, err = cu.LoadData(string(p.request.Helpers)); err != nil {
		return fmt.Errorf("load the device's own kernels: %w", err)
	}
	for name, to := range map[string]*cu.Function{
		"fill": &p.kernels.fill, "checksum": &p.kernels.checksum, "compare": &p.kernels.compare,
		"guard_fill": &p.kernels.guardFill, "guard_check": &p.kernels.guardCheck, "dirty_shared": &p.kernels.dirtyShared,
	} {
		if *to, err = p.module.Function(name); err != nil {
			return fmt.Errorf("find %s among the device's own kernels: %w", name, err)
		}
	}
	if err := allowShared(p.kernels.dirtyShared, int64(p.gpu.bounds.MaxSharedPerBlock)); err != nil {
		return fmt.Errorf("ask for all shared memory: %w", err)
	}
	return nil
}

func (p *problem) checkMemory() error {
	free, total, err := cu.MemInfo()
	if err != nil {
		return fmt.Errorf("ask for free memory: %w", err)
	}
	return p.memory.check(free, total)
}

// measureCopy finds the bandwidth of copies on this GPU, the ceiling for
// whatever only moves data. Its buffers are far larger than the cache.
func (p *problem) measureCopy() error {
	if p.request.KnownCeilings {
		return nil
	}
	free, _, err := cu.MemInfo()
	if err != nil {
		return fmt.Errorf("ask for free memory: %w", err)
	}
	bytes := min(1<<30, free/4/alignment*alignment)
	var buffers [2]cu.DevicePtr
	for i := range buffers {
		if buffers[i], err = cu.MemAlloc(bytes); err != nil {
			return fmt.Errorf("allocate %s to measure copies: %w", device.GiB(bytes), err)
		}
		defer cu.MemFree(buffers[i])
	}
	ms, err := p.timeEach(10, func() error {
		return cu.MemcpyDtoDAsync(buffers[0], buffers[1], bytes, p.gpu.stream)
	}, helperLimit)
	if err != nil {
		return fmt.Errorf("measure copies: %w", err)
	}
	p.ceilings.CopyBytesPerMS = 2 * float64(bytes) / trial.Median(ms[1:])
	return nil
}

// timeEach runs work count times and times each run, in milliseconds.
func (p *problem) timeEach(count int, work func() error, limit time.Duration) ([]float64, error) {
	for i := range count {
		if err := p.queueTimed(i, work); err != nil {
			return nil, err
		}
	}
	return p.times(count, limit)
}

// queueTimed queues work between the pair of events with that number.
func (p *problem) queueTimed(pair int, work func() error) error {
	if err := p.gpu.events[2*pair].Record(p.gpu.stream); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return p.gpu.events[2*pair+1].Record(p.gpu.stream)
}

// times waits for the first pairs of events, for limit at most, and returns the
// milliseconds within each.
func (p *problem) times(pairs int, limit time.Duration) (ms []float64, err error) {
	events := p.gpu.events
	if err := wait(events[2*pairs-1], limit); err != nil {
		return nil, err
	}
	ms = make([]float64, pairs)
	for i := range ms {
		if ms[i], err = events[2*i].Elapsed(events[2*i+1]); err != nil {
			return nil, err
		}
	}
	return ms, nil
}

// allocate takes the planned memory.
func (p *problem) allocate() error {
	var zones []uint64
	values := make([]uint64, len(p.request.Tensors))
	for i, t := range p.request.Tensors {
		block, err := p.take(p.memory.Tensors[i])
		if err != nil {
			return err
		}
		reference, err := p.take(p.memory.References[i])
		if err != nil {
			return err
		}
		var data cu.DevicePtr
		if block != 0 {
			data = block + guardBytes
			end := uint64(data) + uint64(4*t.Elements)
			behind := uint64(block) + uint64(p.memory.Tensors[i]) - end
			zones = append(zones, uint64(block), guardBytes/4, end, behind/4)
		}
		p.tensors, p.references = append(p.tensors, data), append(p.references, reference)
		values[i] = uint64(data)
	}
	p.parameters = newArguments(values...)
	p.zoneCount = len(zones) / 2
	var err error
	if p.flush, err = p.take(p.memory.Flush); err != nil {
		return err
	}
	if p.found, err = p.take(8 * int64(p.layout().words)); err != nil {
		return err
	}
	if p.zones, err = p.take(8 * int64(len(zones))); err != nil {
		return err
	}
	if err := cu.MemcpyHtoD(p.zones, unsafe.Pointer(unsafe.SliceData(zones)), 8*int64(len(zones))); err != nil {
		return fmt.Errorf("write the table of guard zones: %w", err)
	}
	// That copy may still be on its way, and the stream does not wait for it.
	if err := cu.Synchronize(); err != nil {
		return fmt.Errorf("write the table of guard zones: %w", err)
	}
	return nil
}

func (p *problem) take(bytes int64) (cu.DevicePtr, error) {
	if bytes == 0 {
		return 0, nil
	}
	address, err := cu.MemAlloc(bytes)
	if err != nil {
		return 0, &wire.Fault{Kind: wire.NoMemory, Message: fmt.Sprintf("allocate %s of the %s that the problem needs: %v", device.GiB(bytes), device.GiB(p.memory.total()), inWords(err))}
	}
	p.allocated = append(p.allocated, address)
	return address, nil
}

func (p *problem) close() error {
	var failures []error
	for _, address := range p.allocated {
		failures = append(failures, cu.MemFree(address))
	}
	if p.parameters != nil {
		p.parameters.free()
	}
	if p.module != (cu.Module{}) {
		failures = append(failures, p.module.Unload())
	}
	if first := cmp.Or(failures...); first != nil {
		return fmt.Errorf("free the problem's memory: %w", first)
	}
	return nil
}

// run queues one of the helpers on a grid of x by y blocks.
func (p *problem) run(f cu.Function, x, y int64, values ...uint64) error {
	a := newArguments(values...)
	defer a.free() // the driver has copied them when the launch returns
	return launchRow(f, operator.Launch{Grid: [3]int64{x, y, 1}, Block: [3]int64{helperThreads, 1, 1}}, p.gpu.stream, a, 1)
}

// blocks is the grid with which a helper walks that many elements.
func (p *problem) blocks(elements int64) int64 {
	steps := (elements/4 + helperThreads - 1) / helperThreads
	return max(1, min(steps, int64(8*p.gpu.bounds.SMs)))
}

func (p *problem) fillGuards() error {
	if p.zoneCount == 0 {
		return nil
	}
	if err := p.run(p.kernels.guardFill, zoneBlocks, int64(p.zoneCount), uint64(p.zones), p.guard); err != nil {
		return fmt.Errorf("fill the guard zones: %w", err)
	}
	return nil
}

// zoneBlocks is how many blocks share a guard zone.
const zoneBlocks = 16

// fillInputs writes the inputs and weights anew.
func (p *problem) fillInputs() error {
	for i, t := range p.request.Tensors {
		if t.Role == operator.Output || t.Elements == 0 {
			continue
		}
		f := p.request.Fills[i]
		if err := p.run(p.kernels.fill, p.blocks(t.Elements), 1, uint64(p.tensors[i]), uint64(t.Elements),
			uint64(f.Seed), uint64(f.Distribution), uint64(math.Float32bits(f.Scale))); err != nil {
			return fmt.Errorf("fill %s: %w", t.Name, err)
		}
	}
	return nil
}

// preparation is what outputs hold before a launch.
type preparation int

// The preparations, in the order in which launches take turns with them.
const (
	poisoned  preparation = iota // a NaN that no kernel writes
	untouched                    // what the launch before left, as when it is timed
	zeroed                       // zeros, and a large number around the tensors
	preparations
)

// prepare readies the variants' outputs, and all that a variant should not
// depend on, for a launch.
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
	switch how {
	case untouched:
		return nil
	case zeroed:
		return p.overwrite(p.tensors, 0)
	default:
		return p.overwrite(p.tensors, poison)
	}
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

// overwrite fills the outputs among buffers, which the tensors' sizes fit, with
// one word.
func (p *problem) overwrite(buffers []cu.DevicePtr, word uint) error {
	for i, t := range p.request.Tensors {
		if t.Role != operator.Output || t.Elements == 0 {
			continue
		}
		if err := cu.MemsetD32Async(buffers[i], word, t.Elements, p.gpu.stream); err != nil {
			return fmt.Errorf("overwrite %s: %w", t.Name, err)
		}
	}
	return nil
}

// refill draws the inputs anew and computes the reference's answer to them.
func (p *problem) refill(fills []wire.Fill) error {
	p.request.Fills, p.request.KnownCeilings = fills, true
	for _, step := range []func() error{p.fillInputs, p.runReference, p.rememberSums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
