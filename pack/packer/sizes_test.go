package packer

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"autotune/internal/testneeds"
	"autotune/internal/worker"
	"autotune/tuner/compile"
	"autotune/tuner/operator"
)

// TestMain lets NVRTC run in a process of its own.
func TestMain(m *testing.M) {
	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker})
	os.Exit(m.Run())
}

// A cubin with the sizes of another shape written into it is, byte for byte, what the compiler makes
// for that shape.
func TestSizesAreAllThatDiffers(t *testing.T) {
	compiler, err := compile.NVRTC(t.Context())
	testneeds.NVRTC.Opened(t, err, compile.ErrMissing)
	t.Cleanup(func() { compiler.Close() })
	op, err := operator.Find("max_pool2d")
	if err != nil {
		t.Fatal(err)
	}
	var codes [][]byte
	var kernels []operator.Kernel
	for _, shape := range [][]int64{{2, 3, 12, 16}, {3, 3, 17, 20}} {
		p, err := op.Bind(operator.Request{Shape: shape, Parameters: map[string]string{"kernel": "2"}, Free: []string{"n", "h", "w"}}, hopper())
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.Kernel(p.Defaults(t.Context())[0])
		if err != nil {
			t.Fatal(err)
		}
		b, err := compiler.Compile(t.Context(), compile.Request{Kernel: k, Arch: "sm_80"})
		if err != nil {
			t.Fatal(err)
		}
		codes, kernels = append(codes, b.Code), append(kernels, k)
	}
	at, err := sizesAt(codes[0], kernels[0].Sizes)
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range kernels {
		for j, s := range k.Sizes {
			n, _ := s.Value.AsInt()
			if got := int32(binary.LittleEndian.Uint32(codes[i][at+4*int64(j):])); int64(got) != n {
				t.Errorf("at %d the cubin has %d for %s, want %d", at, got, s.Name, n)
			}
		}
	}
	copy(codes[0][at:], codes[1][at:at+4*int64(len(kernels[0].Sizes))])
	if !bytes.Equal(codes[0], codes[1]) {
		t.Error("the cubins differ beyond the sizes")
	}
}

// A place that is not what it seems is refused.
func TestSizesRefused(t *testing.T) {
	sizes := []operator.Size{{Name: "n", Type: "int"}, {Name: "h", Type: "int"}}
	whole := elfOf(make([]byte, 8), operator.SizesSymbol, "text")
	if at, err := sizesAt(whole, sizes); err != nil || at != 64 {
		t.Errorf("%d, %v", at, err)
	}
	if at, err := sizesAt(nil, nil); err != nil || at != 0 {
		t.Errorf("%d, %v", at, err)
	}
	for want, made := range map[string]struct {
		cubin []byte
		sizes []operator.Size
	}{
		"which is no integer":    {whole, []operator.Size{{Name: "half", Type: "double"}}},
		"is no cubin":            {[]byte("text"), sizes},
		"is no cubin: ":          {whole[:70], sizes},
		"has no autotune_sizes":  {elfOf(make([]byte, 8), "others", "text"), sizes},
		"has 8 bytes":            {whole, sizes[:1]},
		"where 12 were expected": {whole, append(sizes, operator.Size{Name: "w", Type: "int"})},
	} {
		if _, err := sizesAt(made.cubin, made.sizes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
