package pack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"autotune/internal/sharedlib"
	"autotune/space/expr"
)

// The tuned kernels of a pack give what the general one gives, on this machine's GPU. So do those
// that families' trees choose. AUTOTUNE_PACK names a pack of max_pool2d, which gives the same bits.
func TestOnGPU(t *testing.T) {
	path := os.Getenv("AUTOTUNE_PACK")
	if path == "" {
		t.Skip("AUTOTUNE_PACK names no pack")
	}
	p, err := Open(path)
	must(t, err)
	driver, err := CUDA(0)
	must(t, err)
	m := openMemory(t, driver.(*cuda))
	loader, bare := p.On(driver), *p
	bare.Entries, bare.Families = nil, nil
	general := bare.On(driver)
	for _, e := range p.Entries {
		if e.Operator == "max_pool2d" {
			var shape []int64
			for _, name := range p.operator(e.Operator).Shape {
				n, _ := e.Values[name].AsInt()
				shape = append(shape, n)
			}
			m.compare(loader, general, shape, p.given(e.Operator, e.Values))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, f := range p.Families {
		for range 20 {
			var shape []int64
			for _, spans := range f.Range {
				s := spans[random.IntN(len(spans))]
				shape = append(shape, s[0]+random.Int64N(s[1]-s[0]+1))
			}
			if f.Operator == "max_pool2d" {
				m.compare(loader, general, shape, p.given(f.Operator, f.Values))
			}
		}
	}
}

// given are an operator's parameters as Plan takes them.
func (p *Pack) given(operator string, values map[string]expr.Value) map[string]string {
	set := map[string]string{}
	for _, s := range p.operator(operator).Parameters {
		var parts []string
		for _, c := range s.Components {
			parts = append(parts, values[c.Name].String())
		}
		set[s.Name] = strings.Join(parts, "x")
	}
	return set
}

// compare launches a problem's tuned kernel and the general one.
func (m *memory) compare(loader, bare *Loader, shape []int64, set map[string]string) {
	tuned, err := loader.Plan("max_pool2d", shape, set, "")
	if err != nil {
		m.t.Fatal(err)
	}
	general, err := bare.Plan("max_pool2d", shape, set, "")
	if err != nil {
		m.t.Fatal(err)
	}
	x, y, z := m.filled(general.Tensors[0].Bytes), m.filled(general.Tensors[1].Bytes), m.filled(general.Tensors[1].Bytes)
	pointers := []Pointer{x, y}
	for _, w := range tuned.Tensors[2:] {
		pointers = append(pointers, m.filled(w.Bytes))
	}
	if err := errors.Join(tuned.Launch(0, pointers...), general.Launch(0, x, z)); err != nil {
		m.t.Fatal(err)
	}
	what := "the general kernel"
	switch {
	case tuned.Entry != nil:
		what = "its own kernel"
	case tuned.Family != nil:
		what = fmt.Sprint("entry ", slices.Index(tuned.Family.Variants, tuned.Variant), " of a family")
	}
	bytes := tuned.Tensors[1].Bytes
	if a, b := m.read(y, bytes), m.read(z, bytes); a != b {
		m.t.Errorf("%v: %s and the general one differ", shape, what)
	} else {
		m.t.Logf("%v: %d bytes of %s are the same", shape, bytes, what)
	}
}

// memory is a GPU's, for tests.
type memory struct {
	t        *testing.T
	cuda     *cuda
	allocate func(to *uintptr, bytes uint64) int32
	copyIn   func(to uintptr, from *byte, bytes uint64) int32
	copyOut  func(to *byte, from uintptr, bytes uint64) int32
}

func openMemory(t *testing.T, c *cuda) *memory {
	handle, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW)
	m := &memory{t: t, cuda: c}
	if err == nil {
		err = sharedlib.Bind(handle, map[string]any{"cuMemAlloc_v2": &m.allocate, "cuMemcpyHtoD_v2": &m.copyIn, "cuMemcpyDtoH_v2": &m.copyOut})
	}
	must(t, err)
	return m
}

func (m *memory) must(call string, make func() int32) {
	release, err := m.cuda.current()
	defer release()
	if err == nil {
		err = m.cuda.check(call, make())
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// filled is memory with numbers in it.
func (m *memory) filled(bytes int64) Pointer {
	numbers := make([]float32, bytes/4+1)
	for i := range numbers {
		numbers[i] = float32(uint32(i)*2654435761>>8) / 1e6
	}
	var at uintptr
	m.must("cuMemAlloc", func() int32 { return m.allocate(&at, uint64(4*len(numbers))) })
	m.must("cuMemcpyHtoD", func() int32 { return m.copyIn(at, (*byte)(unsafe.Pointer(&numbers[0])), uint64(4*len(numbers))) })
	return Pointer(at)
}

func (m *memory) read(from Pointer, bytes int64) string {
	to := make([]byte, bytes)
	m.must("cuMemcpyDtoH", func() int32 { return m.copyOut(&to[0], uintptr(from), uint64(bytes)) })
	return string(to)
}
