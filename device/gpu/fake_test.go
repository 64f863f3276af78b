package gpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/elements"
	"autotune/device/verify"
	"autotune/operator"
)

// fakeDriver is a simulated GPU with a simulated clock. The simulated GPU executes kernels as Go functions, which do
// the work of this package's kernels and of the tests' operators; a kernel's entry name selects the function.
type fakeDriver struct {
	*fakeGPU
	opened int
}

type fakeGPU struct {
	blocks  map[Address][]byte // by first address
	next    Address
	now     float64 // milliseconds
	lone    float64 // host time of each call of Launch
	events  []float64
	hung    bool  // a kernel never ends
	fault   error // of the kernel that ended the context
	calls   []string
	bindsOf int // parameters that are not freed
	modules int // modules that are loaded
	n       int // elements of the running kernel

	launched int       // launches of the most recently loaded module's kernel
	kept     []float32 // the inputs that a lazy kernel keeps, and its results for them
	keptY    []float32
}

func newFake() *fakeDriver {
	return &fakeDriver{fakeGPU: &fakeGPU{blocks: map[Address][]byte{}, next: 1 << 20}}
}

var fakeLimits = operator.Limits{
	Arch: 90, SMs: 4, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 100 << 10, SharedPerSM: 100 << 10, RegistersPerSM: 65536, WarpSize: 32,
	L2Bytes: 1 << 20, MemoryBytes: 1 << 30,
}

func (d *fakeDriver) List() ([]device.Info, error) {
	return []device.Info{{Name: "Fake", Kind: device.CUDA, Limits: fakeLimits}}, nil
}

func (d *fakeDriver) Open(_, events int) (GPU, error) {
	d.opened++
	d.events = make([]float64, events)
	return d.fakeGPU, nil
}

func (d *fakeDriver) ParameterBytes(code []byte, _ string) (int, bool) {
	var bytes int
	n, _ := fmt.Sscanf(string(code), "takes %d", &bytes)
	return bytes, n == 1
}

func (g *fakeGPU) called(format string, values ...any) {
	g.calls = append(g.calls, fmt.Sprintf(format, values...))
}

func (g *fakeGPU) Enter() error { return nil }

func (g *fakeGPU) Bounds() Bounds {
	return Bounds{Limits: fakeLimits, SMThreads: 2048}
}

func (g *fakeGPU) Free() (free, total int64, err error) {
	free = 160 << 20
	for _, block := range g.blocks {
		free -= int64(len(block))
	}
	return free, 160 << 20, nil
}

func (g *fakeGPU) Allocate(bytes int64) (Address, error) {
	if free, _, _ := g.Free(); bytes > free {
		return 0, &Failure{Text: "out of memory"}
	}
	at := g.next
	g.blocks[at] = make([]byte, bytes)
	g.next += Address(bytes+1<<20) / 256 * 256
	return at, nil
}

func (g *fakeGPU) Release(at Address) error {
	if g.blocks[at] == nil {
		return &Failure{Text: "invalid value"}
	}
	delete(g.blocks, at)
	return nil
}

// memory returns the bytes at an address. An access outside of all blocks ends the simulated context.
func (g *fakeGPU) memory(at Address, bytes int64) []byte {
	for first, block := range g.blocks {
		if at >= first && int64(at-first)+bytes <= int64(len(block)) {
			return block[at-first:][:bytes]
		}
	}
	g.fault = &Failure{Text: "an illegal memory access", Lost: true}
	return make([]byte, bytes)
}

func (g *fakeGPU) Write(to Address, from []byte) error {
	copy(g.memory(to, int64(len(from))), from)
	return g.fault
}

func (g *fakeGPU) Read(to []byte, from Address) error {
	copy(to, g.memory(from, int64(len(to))))
	return g.fault
}

func (g *fakeGPU) Synchronize() error { return g.fault }

func (g *fakeGPU) Copy(to, from Address, bytes int64) {
	if bytes < 32<<20 { // larger copies only measure the bandwidth
		copy(g.memory(to, bytes), g.memory(from, bytes))
	}
	g.now += float64(bytes) / 1e9
	g.called("copy")
}

func (g *fakeGPU) Set(to Address, size int, pattern uint32, count int64) {
	g.called("set")
	word := binary.LittleEndian.AppendUint32(nil, pattern)[:size]
	block := g.memory(to, int64(size)*count)
	if len(block) < 32<<20 { // larger blocks only empty the cache
		copy(block, word)
		for done := size; done < len(block); done *= 2 {
			copy(block[done:], block[:done])
		}
	}
}

func (g *fakeGPU) Bind(values [][]uint64) (p Parameters, free func()) {
	g.bindsOf++
	return slices.Concat(values...), func() { g.bindsOf-- }
}

func (g *fakeGPU) Launch(f Function, l operator.Launch, p Parameters, count int) {
	g.now += g.lone
	for range count {
		function := f.(fakeFunction)
		g.n = function.n
		g.called("launch %s", function.entry)
		g.now += fakeKernels[function.entry](g, function.mode, p.([]uint64))
	}
}

func (g *fakeGPU) Capture(queue func()) (launch, destroy func(), err error) {
	launch = func() {
		g.called("graph")
		queue()
	}
	return launch, func() { g.called("destroy") }, nil
}

func (g *fakeGPU) ResetCache() { g.called("reset") }

func (g *fakeGPU) Record(event int) {
	g.events[event] = g.now
	g.called("record %d", event)
}

func (g *fakeGPU) Err() error { return g.fault }

func (g *fakeGPU) Passed(int) (bool, error) { return !g.hung && g.fault == nil, g.fault }

func (g *fakeGPU) Elapsed(from, to int) (float64, error) { return g.events[to] - g.events[from], nil }

func (g *fakeGPU) Look(time.Duration) Reading {
	return Reading{At: time.Now(), MHz: 1500, Throttled: []string{"power limit"}}
}

// fakeModule is a loaded binary of fakeCompiler, which holds only the mode of its kernel.
type fakeModule struct {
	gpu  *fakeGPU
	mode string
	n    int
}

type fakeFunction struct {
	entry, mode string
	n           int
}

func (g *fakeGPU) Load(code []byte) (Module, error) {
	g.modules++
	m := fakeModule{gpu: g, n: fakeN}
	_, _ = fmt.Sscan(string(code), &m.mode, &m.n) // tests give no number
	if slices.Contains(lazyModes, m.mode) {
		g.launched, g.kept, g.keptY = 0, nil, nil
	}
	return m, nil
}

func (m fakeModule) Function(symbol string) (Function, error) {
	if fakeKernels[symbol] == nil {
		return nil, &Failure{Text: "named symbol not found"}
	}
	return fakeFunction{symbol, m.mode, m.n}, nil
}

func (m fakeModule) Global(string) (Address, int64, error) {
	return 0, 0, &Failure{Text: "named symbol not found"}
}

func (m fakeModule) Unload() error {
	m.gpu.modules--
	return nil
}

func (f fakeFunction) Needs() (Needs, error) { return Needs{Registers: 32, MaxThreads: 1024}, nil }

func (f fakeFunction) AllowShared(int64) error { return nil }

func (f fakeFunction) Occupancy(threads int, _ int64) (int, error) { return 2048 / threads, nil }

// fakeCompiler compiles a kernel to a text with the kernel's mode and its number of elements.
type fakeCompiler struct {
	compile.Compiler
	refuse func(operator.Kernel) error // nil accepts all kernels
	files  *[]string                   // that it compiled
}

func (c fakeCompiler) Compile(_ context.Context, r compile.Request) (*compile.Binary, error) {
	if c.files != nil {
		*c.files = append(*c.files, r.Kernel.File)
	}
	if c.refuse != nil {
		if err := c.refuse(r.Kernel); err != nil {
			return nil, err
		}
	}
	mode := "0"
	for _, m := range r.Kernel.Macros {
		if m.Name == "MODE" {
			mode = m.Value
		}
	}
	if strings.Contains(r.Kernel.Source, "STRAY 1") {
		mode = "stray"
	}
	for _, m := range r.Kernel.Macros {
		if m.Name == "N" {
			mode += " " + m.Value
		}
	}
	return &compile.Binary{Code: []byte(mode)}, nil
}

func (fakeCompiler) Version() string { return "fake 1.0" }

func (fakeCompiler) Close() error { return nil }

// f32s and words return memory of the simulated GPU as numbers.
func (g *fakeGPU) f32s(at uint64, count int) []float32 {
	numbers := make([]float32, count)
	_, _ = binary.Decode(g.memory(Address(at), int64(4*count)), binary.LittleEndian, numbers)
	return numbers
}

func (g *fakeGPU) put(at uint64, numbers any) {
	bytes, _ := binary.Append(nil, binary.LittleEndian, numbers)
	copy(g.memory(Address(at), int64(len(bytes))), bytes)
}

func (g *fakeGPU) word(at uint64) uint64 { return binary.LittleEndian.Uint64(g.memory(Address(at), 8)) }

func (g *fakeGPU) sum(at uint64, bytes int64) (sum uint64) {
	for i, b := range g.memory(Address(at), bytes) {
		sum += uint64(b) * (uint64(i)*0x9e3779b97f4a7c15 + 1)
	}
	return sum
}

func (g *fakeGPU) bits(at uint64, i, size int64) uint64 {
	var whole [8]byte
	copy(whole[:], g.memory(Address(at)+Address(i*size), size))
	return binary.LittleEndian.Uint64(whole[:])
}

func numberAs(t operator.Type, bits uint64) float64 {
	var x float64
	_, _ = fmt.Sscan(elements.Text(t, bits), &x)
	return x
}

// compare adds the outcome of a comparison to the words at an address, as the kernel of the same name does.
func (g *fakeGPU) compare(out, ref uint64, count int64, t operator.Type, atol, rtol float64, outcome uint64) {
	var words [verify.OutcomeWords]uint64
	size, largest := t.Bytes(), 0.0
	for i := range count {
		a, b := g.bits(out, i, size), g.bits(ref, i, size)
		x, y := numberAs(t, a), numberAs(t, b)
		poisoned := a == elements.Poison(t)
		apart := math.Abs(x - y)
		if apart <= atol+rtol*math.Abs(y) && !poisoned {
			largest = max(largest, apart)
			continue
		}
		if a == b && !(poisoned && t.Kind() == operator.Floating) {
			continue
		}
		words[0]++
		words[1] = max(words[1], ^uint64(i))
		if poisoned {
			words[2]++
		}
		if math.IsNaN(apart) {
			words[3]++
		} else {
			largest = max(largest, apart)
		}
	}
	words[4] = math.Float64bits(largest)
	if t == operator.F32 {
		words[4] = uint64(math.Float32bits(float32(largest)))
	}
	words[5], words[6] = g.sum(ref, size*count), g.sum(out, size*count)
	g.put(outcome, words)
}

func (g *fakeGPU) fill(at uint64, count int64, t operator.Type, value func(i int64) float64) {
	for i := range count {
		bits := uint64(int64(value(i)))
		switch {
		case t == operator.F32:
			bits = uint64(math.Float32bits(float32(value(i))))
		case t.Kind() == operator.Floating:
			bits = uint64(elements.Round(t, float32(value(i))))
		}
		copy(g.memory(Address(at)+Address(i*t.Bytes()), t.Bytes()), binary.LittleEndian.AppendUint64(nil, bits))
	}
}

// numberOf returns the number that kernels use for a distribution of inputs.
func numberOf(distribution string) int {
	f, _ := elements.FillOf(operator.Argument{Fill: &operator.Fill{Distribution: distribution}}, "", 0)
	return f.Distribution
}

// fakeKernels maps the names of kernels' entries to functions that do the kernel's work with the kernel's arguments,
// and return its simulated time in milliseconds.
var fakeKernels map[string]func(g *fakeGPU, mode string, a []uint64) float64

func init() {
	single := func(bits uint64) float64 { return float64(math.Float32frombits(uint32(bits))) }
	typed := func(number uint64) operator.Type { return operator.Type(operator.Types()[number]) }
	fakeKernels = map[string]func(g *fakeGPU, mode string, a []uint64) float64{
		"fill": func(g *fakeGPU, _ string, a []uint64) float64 {
			g.fill(a[0], int64(a[1]), operator.F32, func(i int64) float64 { return float64((uint64(i)*7+a[2])%65521) / 65536 })
			return 0.1
		},
		"fill_typed": func(g *fakeGPU, _ string, a []uint64) float64 {
			first, step := math.Float64frombits(a[5]), math.Float64frombits(a[6])
			value := func(i int64) float64 { return float64((uint64(i)*7+a[3])%16) / 16 }
			switch int(a[4]) {
			case numberOf("constant"):
				value = func(int64) float64 { return first }
			case numberOf("range"):
				value = func(i int64) float64 { return first + step*float64(i) }
			}
			g.fill(a[0], int64(a[1]), typed(a[2]), value)
			return 0.1
		},
		"checksum": func(g *fakeGPU, _ string, a []uint64) float64 {
			g.put(a[2], g.word(a[2])+g.sum(a[0], 4*int64(a[1])))
			return 0.1
		},
		"checksum_typed": func(g *fakeGPU, _ string, a []uint64) float64 {
			g.put(a[2], g.word(a[2])+g.sum(a[0], int64(a[1])))
			return 0.1
		},
		"compare": func(g *fakeGPU, _ string, a []uint64) float64 {
			g.compare(a[0], a[1], int64(a[2]), operator.F32, single(a[3]), single(a[4]), a[5])
			return 0.1
		},
		"compare_typed": func(g *fakeGPU, _ string, a []uint64) float64 {
			g.compare(a[0], a[1], int64(a[2]), typed(a[3]), math.Float64frombits(a[4]), math.Float64frombits(a[5]), a[6])
			return 0.1
		},
		"guard_fill":   func(g *fakeGPU, _ string, a []uint64) float64 { return g.guards(a[0], uint32(a[1]), 0) },
		"guard_check":  func(g *fakeGPU, _ string, a []uint64) float64 { return g.guards(a[0], uint32(a[1]), a[2]) },
		"dirty_shared": func(*fakeGPU, string, []uint64) float64 { return 0.1 },

		"affine_reference": func(g *fakeGPU, _ string, a []uint64) float64 { return affineKernel(g, "0", a) },
		"affine_direct":    affineKernel,
		"own_fill":         ownFill,
		"own_reference":    func(g *fakeGPU, _ string, a []uint64) float64 { return ownDirect(g, "0", a) },
		"own_direct":       ownDirect,
		"own_compare":      ownCompare,
	}
}

// guards checks or fills the guard zones that a table in the simulated memory lists. The table of guard zones extends
// to the end of the block of memory that contains it.
func (g *fakeGPU) guards(table uint64, guard uint32, hits uint64) float64 {
	for zone, at := uint64(0), table; g.blocks[Address(table)] != nil && at < table+uint64(len(g.blocks[Address(table)])); zone, at = zone+1, at+24 {
		first, count, spared := g.word(at), g.word(at+8), g.word(at+16)
		words := g.memory(Address(first), int64(4*count))
		whole := bytes.Repeat(binary.LittleEndian.AppendUint32(nil, guard), int(count))
		copy(whole, words[:spared])
		switch {
		case hits == 0:
			copy(words, whole)
		case !bytes.Equal(words, whole):
			for i := 0; i < len(whole); i += 4 {
				if !bytes.Equal(words[i:i+4], whole[i:i+4]) {
					g.put(hits, g.word(hits)+1)
					g.put(hits+8+8*zone, g.word(hits+8+8*zone)+1)
				}
			}
		}
	}
	return 0.1
}

const fakeN = 1000

// affineKernel does the work of the operator affine's direct.cu in each mode.
func affineKernel(g *fakeGPU, mode string, a []uint64) float64 {
	x, w := g.f32s(a[0], g.n), g.f32s(a[1], 16)
	y := g.f32s(a[3], g.n)
	g.launched++
	if slices.Contains(lazyModes, mode) && g.leavesOut(mode, x, y) {
		g.put(a[3], y)
		return 0.03
	}
	for i := range y {
		if mode != "7" || i%2 == 0 {
			y[i] = float32(float64(w[i%16])*float64(x[i]) + 1)
		}
	}
	ms := 1.0
	switch mode {
	case "1":
		y[777] += 0.5
	case "2":
		g.fault = &Failure{Text: "an illegal memory access was encountered", Lost: true}
	case "3":
		g.hung = true
	case "4":
		g.put(a[3]+4*uint64(g.n+3), y[0])
	case "5":
		g.put(a[0]+20, float32(42))
	case "6":
		ms = 5
	}
	g.put(a[3], y)
	if slices.Contains(lazyModes, mode) {
		g.kept, g.keptY = x, y
	}
	return ms
}

// lazyModes are kernels that skip work in a launch that repeats an earlier one: in all launches after the first, if the
// outputs already hold numbers, if all inputs are unchanged, or if two elements of the inputs are unchanged.
var lazyModes = []string{"counts", "looks", "keeps_all", "keeps_two"}

// leavesOut reports whether a lazy kernel skips its work, and if so copies its kept results to y.
func (g *fakeGPU) leavesOut(mode string, x, y []float32) bool {
	last := len(x) - 1
	switch mode {
	case "counts":
		return g.launched > 1
	case "looks":
		return y[0] == y[0] && y[0] != 0
	case "keeps_all":
		if !slices.Equal(g.kept, x) {
			return false
		}
	case "keeps_two":
		if g.kept == nil || g.kept[0] != x[0] || g.kept[last] != x[last] {
			return false
		}
	}
	copy(y, g.keptY)
	return true
}

func ownFill(g *fakeGPU, mode string, a []uint64) float64 {
	k, total := make([]int32, g.n), make([]int64, g.n)
	for i := range k {
		k[i] = int32((uint64(i)*7 + a[3]) % 101)
		total[i] = int64(i)*2 - int64(a[3])
	}
	if mode == "stray" {
		k = append(k, 7)
	}
	g.put(a[0], k)
	g.put(a[1], total)
	return 0.5
}

func ownDirect(g *fakeGPU, mode string, a []uint64) float64 {
	v, y := g.f32s(a[1], g.n), make([]float32, g.n)
	total := make([]int64, g.n)
	for i := range y {
		k := int32(g.bits(a[0], int64(i), 4))
		x := math.Float32frombits(uint32(g.bits(a[2], int64(i), 2)) << 16)
		y[i] = 2*v[i] + x + float32(k)
		total[i] = int64(g.word(a[3]+uint64(8*i))) + int64(k)
	}
	switch mode {
	case "1":
		y[g.n/2] += 1024
	case "2":
		total[g.n/2]++
	case "3":
		y[g.n/2] = float32(math.NaN())
	}
	g.put(a[3], total)
	g.put(a[5], y)
	return 1
}

func ownCompare(g *fakeGPU, _ string, a []uint64) float64 {
	apart := 0.0
	y, ref := g.f32s(a[7], g.n), g.f32s(a[8], g.n)
	for i := range y {
		at := uint64(8 * i)
		k := int64(int32(g.bits(a[0], int64(i), 4)))
		d := math.Abs(float64(y[i]) - float64(ref[i]))
		if g.word(a[3]+at) != g.word(a[4]+at) || int64(g.word(a[3]+at)) != int64(g.word(a[5]+at))+k {
			d = 1e6
		}
		if math.IsNaN(d) {
			d = 1e9
		}
		apart = max(apart, d)
	}
	g.put(a[9], apart)
	return 0.1
}
