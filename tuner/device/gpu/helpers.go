package gpu

import (
	"fmt"
	"math"

	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
)

// helpers are the device's own kernels on the GPU, and how each is launched.
type helpers struct {
	gpu     GPU
	modules []Module

	fill, checksum, compare, guardFill, guardCheck, dirtyShared Function // of kernels.cu
	fillTyped, checksumTyped, compareTyped                      Function // of typed.cu; nil where it is not needed
}

const (
	helperThreads = 256
	zoneBlocks    = 16 // that share a guard zone
)

// What the guard zones hold.
const (
	guardNaN   = 0x7fedface
	guardLarge = 0x7149f2ca // 1e30
)

// load loads kernels.cu and, where there is any of it, typed.cu.
func (h *helpers) load(plain, typed []byte) error {
	if err := h.loadModule(plain, map[string]*Function{
		"fill": &h.fill, "checksum": &h.checksum, "compare": &h.compare,
		"guard_fill": &h.guardFill, "guard_check": &h.guardCheck, "dirty_shared": &h.dirtyShared,
	}); err != nil {
		return err
	}
	if len(typed) > 0 {
		if err := h.loadModule(typed, map[string]*Function{
			"fill_typed": &h.fillTyped, "checksum_typed": &h.checksumTyped, "compare_typed": &h.compareTyped,
		}); err != nil {
			return err
		}
	}
	if err := h.dirtyShared.AllowShared(int64(h.gpu.Bounds().MaxSharedPerBlock)); err != nil {
		return fmt.Errorf("ask for all shared memory: %w", err)
	}
	return nil
}

func (h *helpers) loadModule(code []byte, functions map[string]*Function) error {
	module, err := h.gpu.Load(code)
	if err != nil {
		return fmt.Errorf("load the device's own kernels: %w", err)
	}
	h.modules = append(h.modules, module)
	for name, to := range functions {
		if *to, err = module.Function(name); err != nil {
			return fmt.Errorf("find %s among the device's own kernels: %w", name, err)
		}
	}
	return nil
}

// run queues one of them on a grid of x by y blocks.
func (h *helpers) run(f Function, x, y int64, values ...uint64) error {
	return launchOnce(h.gpu, f, operator.Launch{Grid: [3]int64{x, y, 1}, Block: [3]int64{helperThreads, 1, 1}}, values)
}

// launchOnce queues a kernel on some values.
func launchOnce(g GPU, f Function, l operator.Launch, values []uint64) error {
	parameters := g.Bind(values)
	defer parameters.Free() // the driver has copied them when the launch returns
	return g.Launch(f, l, parameters, 1)
}

// blocks is the grid with which a kernel walks a tensor, 16 bytes a step.
func (h *helpers) blocks(a operator.Argument) int64 {
	steps := (a.Bytes()/16 + helperThreads - 1) / helperThreads
	return max(1, min(steps, int64(8*h.gpu.Bounds().SMs)))
}

func typeNumber(a operator.Argument) uint64 { return uint64(elements.TypeNumber(a.Type)) }

func floatBits(x float64) uint64 { return uint64(math.Float32bits(float32(x))) }

// draw fills a tensor with what is drawn.
func (h *helpers) draw(address Address, a operator.Argument, f elements.Fill) error {
	if elements.Typed(a) {
		return h.run(h.fillTyped, h.blocks(a), 1, uint64(address), uint64(a.Elements), typeNumber(a),
			uint64(f.Seed), uint64(f.Distribution), math.Float64bits(f.A), math.Float64bits(f.B))
	}
	return h.run(h.fill, h.blocks(a), 1, uint64(address), uint64(a.Elements),
		uint64(f.Seed), uint64(f.Distribution), floatBits(f.A))
}

// compareWith queues the comparison of an argument, in a buffer, with its reference.
func (h *helpers) compareWith(a operator.Argument, buffer, reference, outcome Address) error {
	if a.Type == operator.F32 {
		return h.run(h.compare, h.blocks(a), 1, uint64(buffer), uint64(reference), uint64(a.Elements),
			floatBits(a.ATol), floatBits(a.RTol), uint64(outcome))
	}
	return h.run(h.compareTyped, h.blocks(a), 1, uint64(buffer), uint64(reference), uint64(a.Elements), typeNumber(a),
		math.Float64bits(a.ATol), math.Float64bits(a.RTol), uint64(outcome))
}

// sum queues the checksum of an argument in a buffer.
func (h *helpers) sum(a operator.Argument, buffer, sum Address) error {
	if a.Type == operator.F32 {
		return h.run(h.checksum, h.blocks(a), 1, uint64(buffer), uint64(a.Elements), uint64(sum))
	}
	return h.run(h.checksumTyped, h.blocks(a), 1, uint64(buffer), uint64(a.Bytes()), uint64(sum))
}

// soilShared overwrites the shared memory of every multiprocessor: a block takes all of
// one's.
func (h *helpers) soilShared() error {
	bounds := h.gpu.Bounds()
	bytes := int64(bounds.MaxSharedPerBlock)
	return launchOnce(h.gpu, h.dirtyShared, operator.Launch{
		Grid: [3]int64{int64(bounds.SMs), 1, 1}, Block: [3]int64{helperThreads, 1, 1}, SharedBytes: bytes,
	}, []uint64{uint64(bytes / 4)})
}

func (h *helpers) unload() error {
	var first error
	for _, module := range h.modules {
		if err := module.Unload(); first == nil {
			first = err
		}
	}
	h.modules = nil
	return first
}
