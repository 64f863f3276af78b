package elements

import (
	"encoding/binary"
	"math"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
)

func tensorOf(t operator.Type, all ...uint64) (contents []byte) {
	for _, bits := range all {
		contents = append(contents, binary.LittleEndian.AppendUint64(nil, bits)[:t.Bytes()]...)
	}
	return contents
}

func TestCompare(t *testing.T) {
	f32 := func(x float64) uint64 { return uint64(math.Float32bits(float32(x))) }
	nan, infinity := math.NaN(), math.Inf(1)
	minus := func(x int64) uint64 { return uint64(x) }
	for _, tt := range []struct {
		at         operator.Type
		got, want  []uint64
		atol, rtol float64
		found      Difference
	}{
		{operator.F32, []uint64{f32(1), f32(2)}, []uint64{f32(1), f32(2)}, 0, 0, Difference{}},
		{operator.F32, []uint64{f32(1), f32(2), f32(4)}, []uint64{f32(1), f32(2.5), f32(3)}, 0.5, 0, Difference{1, 1, 2}},
		{operator.F32, []uint64{f32(100), f32(101)}, []uint64{f32(101), f32(90)}, 0, 0.1, Difference{11, 1, 1}},
		{operator.F32, []uint64{f32(nan), f32(infinity), f32(-infinity)}, []uint64{f32(nan), f32(infinity), f32(infinity)}, 1, 1, Difference{0, 1, 2}},
		{operator.F32, []uint64{f32(nan), f32(1), f32(infinity)}, []uint64{f32(1), f32(nan), f32(3e38)}, 1, 1, Difference{0, 3, 0}},
		{operator.F32, []uint64{Poison(operator.F32)}, []uint64{f32(nan)}, 1, 1, Difference{0, 1, 0}},
		{operator.F64, []uint64{math.Float64bits(1e300)}, []uint64{math.Float64bits(-1e300)}, 1, 1, Difference{2e300, 1, 0}},
		{operator.BF16, []uint64{0x3f80, 0x4000}, []uint64{0x3f80, 0x3f80}, 0.5, 0, Difference{1, 1, 1}},
		{operator.F8E4M3, []uint64{0x38, 0x7f}, []uint64{0x38, 0x38}, 0, 0, Difference{0, 1, 1}},
		{operator.I8, []uint64{0xff, 0x80}, []uint64{0x01, 0x7f}, 2, 0, Difference{255, 1, 1}},
		{operator.I64, []uint64{minus(math.MinInt64)}, []uint64{math.MaxInt64}, 0, 0, Difference{0x1p64, 1, 0}},
		{operator.U64, []uint64{math.MaxUint64, 5}, []uint64{0, 5}, 1, 0, Difference{0x1p64, 1, 0}},
		{operator.Bool, []uint64{1, 0}, []uint64{1, 1}, 0, 0, Difference{1, 1, 1}},
		{operator.I32, []uint64{Poison(operator.I32)}, []uint64{Poison(operator.I32)}, 0, 0, Difference{}},
	} {
		if d := Compare(tt.at, tt.atol, tt.rtol, tensorOf(tt.at, tt.got...), tensorOf(tt.at, tt.want...)); d.Wrong != tt.found.Wrong || d.Largest != tt.found.Largest || d.Wrong > 0 && d.First != tt.found.First {
			t.Errorf("%s %x, %x: %+v, want %+v", tt.at, tt.got, tt.want, d, tt.found)
		}
	}
	if x := Largest(operator.F16, tensorOf(operator.F16, 0xbc00, 0x4200, 0x7c00, 0x7e00)); x != 3 {
		t.Errorf("the largest number is %v", x)
	}
}

// Changes picks a few ranges within the tensor, and none if the elements depend on each other.
func TestChanges(t *testing.T) {
	for _, elements := range []int64{1, 3, 1000, 1 << 16, 1 << 40} {
		a := operator.Argument{Role: operator.Input, Type: operator.F32, Elements: elements}
		f, err := FillOf(a, "normal", 1)
		must.OK(t, err)
		all := Changes(a, f, 7)
		var changed int64
		for _, r := range all {
			changed += r.Count
			if r.First < 0 || r.Count < 1 || r.First+r.Count > elements {
				t.Errorf("of %d elements %+v change", elements, r)
			}
		}
		if len(all) == 0 || changed > max(4, elements/256) {
			t.Errorf("of %d elements %d change", elements, changed)
		}
		a.Fill = &operator.Fill{Distribution: "permutation"}
		if f, _ = FillOf(a, "normal", 1); len(Changes(a, f, 7)) > 0 {
			t.Error("a permutation changes")
		}
	}
}

// The extreme inputs stay within the operator's own input range and within what the type can hold.
func TestExtremes(t *testing.T) {
	for _, tt := range []struct {
		inputs  []string
		tensors int
		want    int
	}{{[]string{"normal"}, 1, 5}, {[]string{"normal"}, 2, 4}, {[]string{"uniform01", "negative"}, 1, 4}, {[]string{"negative"}, 1, 0}} {
		o := &operator.Operator{Inputs: tt.inputs, Arguments: make([]operator.ArgumentSpec, tt.tensors)}
		for i := range o.Arguments {
			o.Arguments[i].Role = operator.Input
		}
		if all := o.Extremes(); len(all) != tt.want {
			t.Errorf("%v of %d tensors: %v", tt.inputs, tt.tensors, all)
		}
	}
	for _, name := range operator.Extremes() {
		for _, at := range []operator.Type{operator.F32, operator.F16, operator.BF16, operator.F8E4M3, operator.F8E5M2} {
			f, err := FillOf(operator.Argument{Role: operator.Input, Type: at, Elements: 1}, name, 1)
			if bits := uint64(Round(at, float32(4*f.A))); err != nil || at != operator.F32 && math.IsInf(Number(at, bits), 0) || name == "tiny" && at != operator.F32 && Number(at, bits) == 0 {
				t.Errorf("%s in %s: %+v, %v", name, at, f, err)
			}
		}
		if f, _ := FillOf(operator.Argument{Role: operator.Input, Type: operator.F32, Fill: &operator.Fill{Distribution: "uniform", Numbers: []float64{1, 2}}}, name, 1); f.A != 1 || f.B != 2 {
			t.Errorf("a tensor of bounds of its own is filled with %+v", f)
		}
	}
}
