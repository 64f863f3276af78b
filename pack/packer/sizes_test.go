package packer

import (
	"strings"
	"testing"

	"autotune/operator"
)

// sizesAt must refuse a cubin in which the variable for the sizes is not where it should be.
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
		"which is not an integer": {whole, []operator.Size{{Name: "half", Type: "double"}}},
		"is no cubin":             {[]byte("text"), sizes},
		"is no cubin: ":           {whole[:70], sizes},
		"has no autotune_sizes":   {elfOf(make([]byte, 8), "others", "text"), sizes},
		"has 8 bytes":             {whole, sizes[:1]},
		"where 12 were expected":  {whole, append(sizes, operator.Size{Name: "w", Type: "int"})},
	} {
		if _, err := sizesAt(made.cubin, made.sizes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
