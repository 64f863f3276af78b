//go:build cuda

package cudaworker

import (
	"cmp"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// problem is a session's state on the GPU: tensors between guard zones, the
// reference's outputs, and what all of it looked like before any variant ran.
type problem struct {
	gpu     *processor
	request *wire.Open
	memory  memory

	modules  []cu.Module
	kernels  helpers
	fillings []variant // the operator's own kernels: those that fill,
	compares variant   // and the one that compares, if there is one

	allocated  []cu.DevicePtr // to free
	tensors    []cu.DevicePtr // by argument; 0 for one without elements
	references []cu.DevicePtr // what the reference makes of a tensor; 0 for what is not compared
	pristine   []cu.DevicePtr // what a tensor is restored from; 0 for what is not both read and written
	flush      cu.DevicePtr
	zones      cu.DevicePtr // table of guard zones
	zoneCount  int
	guard      uint64       // the word that the guard zones hold
	found      cu.DevicePtr // words that the helpers add to, see layout

	sums     []sums // by argument
	ceilings device.Ceilings
}

// sums are what a tensor's checksums must be; 0 where it has none.
type sums struct {
	read      uint64 // of what a kernel may only read
	reference uint64
	pristine  uint64
}

// helpers are the functions of kernels.cu, and those of typed.cu where it is needed.
type helpers struct {
	fill, checksum, compare, guardFill, guardCheck, dirtyShared cu.Function
	fillTyped, checksumTyped, compareTyped                      cu.Function
}

const (
	guardNaN       = 0x7fedface
	guardLarge     = 0x7149f2ca // 1e30
	helperThreads  = 256
	helperLimit    = time.Minute     // for the helpers' own kernels
	referenceLimit = 5 * time.Minute // a reference is plain, and slow
)

// openProblem puts a problem's tensors in place.
func openProblem(g *processor, o *wire.Open) (*problem, error) {
	p := &problem{gpu: g, request: o, guard: guardNaN, memory: planMemory(o.Arguments, g.bounds.L2Bytes)}
	for _, step := range []func() error{
		p.loadHelpers, p.loadOwn, p.checkMemory, p.measureCopy, p.allocate,
		p.fillGuards, p.fillInputs, p.learnAnswers,
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
	if err := p.load(p.request.Helpers, map[string]*cu.Function{
		"fill": &p.kernels.fill, "checksum": &p.kernels.checksum, "compare": &p.kernels.compare,
		"guard_fill": &p.kernels.guardFill, "guard_check": &p.kernels.guardCheck, "dirty_shared": &p.kernels.dirtyShared,
	}); err != nil {
		return err
	}
	if len(p.request.Typed) > 0 {
		if err := p.load(p.request.Typed, map[string]*cu.Function{
			"fill_typed": &p.kernels.fillTyped, "checksum_typed": &p.kernels.checksumTyped, "compare_typed": &p.kernels.compareTyped,
		}); err != nil {
			return err
		}
	}
	if err := allowShared(p.kernels.dirtyShared, int64(p.gpu.bounds.MaxSharedPerBlock)); err != nil {
		return fmt.Errorf("ask for all shared memory: %w", err)
	}
	return nil
}

// load loads some of the device's own kernels.
func (p *problem) load(code []byte, functions map[string]*cu.Function) error {
	module, err := cu.LoadData(string(code))
	if err != nil {
		return fmt.Errorf("load the device's own kernels: %w", err)
	}
	p.modules = append(p.modules, module)
	for name, to := range functions {
		if *to, err = module.Function(name); err != nil {
			return fmt.Errorf("find %s among the device's own kernels: %w", name, err)
		}
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
	ms, err := p.timeEach(10, nothing, func() error {
		return cu.MemcpyDtoDAsync(buffers[0], buffers[1], bytes, p.gpu.stream)
	}, helperLimit)
	if err != nil {
		return fmt.Errorf("measure copies: %w", err)
	}
	p.ceilings.CopyBytesPerMS = 2 * float64(bytes) / trial.Median(ms[1:])
	return nil
}

// nothing has to be done before some work.
func nothing() error { return nil }

// timeEach runs work count times and times each run, in milliseconds, but not what
// is done before each.
func (p *problem) timeEach(count int, before, work func() error, limit time.Duration) ([]float64, error) {
	for i := range count {
		if err := before(); err != nil {
			return nil, err
		}
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
	for i, a := range p.request.Arguments {
		block, err := p.take(p.memory.Tensors[i])
		if err != nil {
			return err
		}
		reference, err := p.take(p.memory.References[i])
		if err != nil {
			return err
		}
		pristine, err := p.take(p.memory.Pristine[i])
		if err != nil {
			return err
		}
		var data cu.DevicePtr
		if block != 0 {
			data = block + guardBytes
			zones = append(zones, zonesAround(uint64(data), a.Bytes(), uint64(block)+uint64(p.memory.Tensors[i]))...)
		}
		p.tensors, p.references, p.pristine = append(p.tensors, data), append(p.references, reference), append(p.pristine, pristine)
	}
	p.zoneCount = len(zones) / zoneWords
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

// passed are the arguments as a kernel is passed them: addresses and scalars.
func (p *problem) passed() []uint64 {
	values := make([]uint64, len(p.request.Arguments))
	for i, a := range p.request.Arguments {
		values[i] = uint64(p.tensors[i])
		if a.Role == operator.Scalar {
			values[i] = a.Bits()
		}
	}
	return values
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
	for _, module := range p.modules {
		failures = append(failures, module.Unload())
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

// blocks is the grid with which a helper walks a tensor, 16 bytes a step.
func (p *problem) blocks(a operator.Argument) int64 {
	steps := (a.Bytes()/16 + helperThreads - 1) / helperThreads
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

// refill draws the inputs anew and computes the reference's answer to them.
func (p *problem) refill(fills []elements.Fill) error {
	p.request.Fills, p.request.KnownCeilings, p.request.Answers = fills, true, nil
	if err := p.fillInputs(); err != nil {
		return err
	}
	return p.learnAnswers()
}
