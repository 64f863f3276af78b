package gpu

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"

	"autotune/device/compile"
	"autotune/device/elements"
	"autotune/internal/lists"
	"autotune/operator"
)

// holding is a GPU that records the memory and modules of one problem, to free them together.
type holding struct {
	GPU
	blocks  []Address
	modules []Module
}

func (h *holding) Allocate(bytes int64) (Address, error) {
	at, err := h.GPU.Allocate(bytes)
	if err == nil {
		h.blocks = append(h.blocks, at)
	}
	return at, err
}

func (h *holding) free() error {
	failures := lists.Of(h.blocks, h.Release)
	failures = append(failures, lists.Of(h.modules, Module.Unload)...)
	h.blocks, h.modules = nil, nil
	if err := cmp.Or(failures...); err != nil {
		return fmt.Errorf("free the problem's memory: %w", err)
	}
	return nil
}

// helpers are the device's own kernels, loaded on the GPU.
type helpers struct {
	gpu     *holding
	kernels map[string]Function
}

const (
	helperThreads = 256
	zoneBlocks    = 16 // blocks per guard zone
)

// Every word of a guard zone holds one of the values guardNaN and guardLarge.
const (
	guardNaN   = 0x7fedface
	guardLarge = 0x7149f2ca // 1e30
)

func (h *helpers) load(files []operator.Kernel, codes map[string][]byte) error {
	h.kernels = map[string]Function{}
	for _, file := range files {
		module, err := h.gpu.Load(codes[file.File])
		if err != nil {
			return fmt.Errorf("load the device's own kernels: %w", err)
		}
		h.gpu.modules = append(h.gpu.modules, module)
		for _, name := range entries[file.File] {
			if h.kernels[name], err = module.Function(name); err != nil {
				return fmt.Errorf("find %s among the device's own kernels: %w", name, err)
			}
		}
	}
	if err := h.kernels["dirty_shared"].AllowShared(int64(h.gpu.Bounds().MaxSharedPerBlock)); err != nil {
		return fmt.Errorf("ask for all shared memory: %w", err)
	}
	return nil
}

func (h *helpers) run(name string, x, y int64, values ...uint64) {
	launchOnce(h.gpu, h.kernels[name], operator.Launch{Grid: [3]int64{x, y, 1}, Block: [3]int64{helperThreads, 1, 1}}, values)
}

func launchOnce(g GPU, f Function, l operator.Launch, values []uint64) {
	parameters, free := g.Bind(lists.Of(values, func(v uint64) []uint64 { return []uint64{v} }))
	defer free() // the driver has copied them when the launch returns
	g.Launch(f, l, parameters, 1)
}

// walk queues a kernel that processes a tensor in steps of 16 bytes.
func (h *helpers) walk(name string, a operator.Argument, values ...uint64) {
	steps := (a.Bytes()/16 + helperThreads - 1) / helperThreads
	h.run(name, max(1, min(steps, int64(8*h.gpu.Bounds().SMs))), 1, values...)
}

func typeNumber(a operator.Argument) uint64 { return uint64(elements.TypeNumber(a.Type)) }
func floatBits(x float64) uint64            { return uint64(math.Float32bits(float32(x))) }

func (h *helpers) draw(address Address, a operator.Argument, f elements.Fill) {
	if elements.Typed(a) {
		h.walk("fill_typed", a, uint64(address), uint64(a.Elements), typeNumber(a),
			uint64(f.Seed), uint64(f.Distribution), math.Float64bits(f.A), math.Float64bits(f.B))
	} else {
		h.walk("fill", a, uint64(address), uint64(a.Elements), uint64(f.Seed), uint64(f.Distribution), floatBits(f.A))
	}
}

func (h *helpers) compareWith(a operator.Argument, buffer, reference, outcome Address) {
	if a.Type == operator.F32 {
		h.walk("compare", a, uint64(buffer), uint64(reference), uint64(a.Elements),
			floatBits(a.ATol), floatBits(a.RTol), uint64(outcome))
	} else {
		h.walk("compare_typed", a, uint64(buffer), uint64(reference), uint64(a.Elements), typeNumber(a),
			math.Float64bits(a.ATol), math.Float64bits(a.RTol), uint64(outcome))
	}
}

func (h *helpers) sum(a operator.Argument, buffer, sum Address) {
	if a.Type == operator.F32 {
		h.walk("checksum", a, uint64(buffer), uint64(a.Elements), uint64(sum))
	} else {
		h.walk("checksum_typed", a, uint64(buffer), uint64(a.Bytes()), uint64(sum))
	}
}

// soilShared fills the shared memory of every multiprocessor with NaNs, by launching blocks that each use a
// multiprocessor's whole shared memory.
func (h *helpers) soilShared() {
	bounds := h.gpu.Bounds()
	bytes := int64(bounds.MaxSharedPerBlock)
	launchOnce(h.gpu, h.kernels["dirty_shared"], operator.Launch{
		Grid: [3]int64{int64(bounds.SMs), 1, 1}, Block: [3]int64{helperThreads, 1, 1}, SharedBytes: bytes,
	}, []uint64{uint64(bytes / 4)})
}

// The embedded files contain the device's own kernels. typed.cu is compiled when a problem first needs it.
var (
	//go:embed kernels.cu
	kernels string
	//go:embed typed.cu
	typedKernels string
	//go:embed common.cuh
	common string
)

// entries lists the kernels in each of the device's own source files.
var entries = map[string][]string{
	"kernels.cu": {"compare", "fill", "checksum", "guard_fill", "guard_check", "dirty_shared"},
	"typed.cu":   {"compare_typed", "fill_typed", "checksum_typed"},
}

// Kernels returns the device's own source files that the given arguments need, so that they can be compiled ahead.
func Kernels(arguments []operator.Argument) []operator.Kernel {
	file := func(name, source string) operator.Kernel {
		return operator.Kernel{
			Operator: "device", Template: "kernels", Launches: operator.Launches{{Entry: entries[name][0]}}, File: name, Source: source,
			Includes: map[string]string{"common.cuh": common, "elements.h": elements.Source},
		}
	}
	all := []operator.Kernel{file("kernels.cu", kernels)}
	if slices.ContainsFunc(arguments, elements.Typed) {
		all = append(all, file("typed.cu", typedKernels))
	}
	return all
}

func (p *processor) compileOwn(ctx context.Context, k operator.Kernel) error {
	p.mu.Lock()
	code := p.own[k.File]
	p.mu.Unlock()
	if code != nil {
		return nil
	}
	binary, err := p.Options.Compiler.Compile(ctx, compile.Request{Kernel: k, Arch: p.Target})
	if err != nil {
		return fmt.Errorf("compile the device's own kernels: %w", err)
	}
	p.mu.Lock()
	p.own[k.File] = binary.Code
	p.mu.Unlock()
	return nil
}
