package elements

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"autotune/operator"
)

var small16 = []operator.Type{operator.F16, operator.BF16, operator.F8E4M3, operator.F8E5M2}

// Every number of a small type survives the conversion to f32 and back.
func TestRoundKeeps(t *testing.T) {
	for _, at := range small16 {
		for code := range uint32(1) << (8 * at.Bytes()) {
			value := single(at, code)
			if value != value {
				if got := single(at, uint32(Round(at, value))); got == got {
					t.Errorf("%s: the NaN %#x becomes %v", at, code, got)
				}
				continue
			}
			if got := Round(at, value); uint32(got) != code {
				t.Fatalf("%s: %#x, which is %v, becomes %#x", at, code, value, got)
			}
		}
	}
}

// An f32 number that is missing in the small type becomes the nearest of its two neighbours in that type, which the
// test finds by counting.
func TestRoundNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, at := range small16 {
		for range 20000 {
			code := random.Uint32N(1<<(8*at.Bytes()-1) - 1)
			low, high := single(at, code), single(at, code+1)
			if low != low || high != high || math.IsInf(float64(high), 0) {
				continue
			}
			value := low + (high-low)*random.Float32()
			want, below, above := code, float64(value)-float64(low), float64(high)-float64(value)
			if above < below || above == below && code%2 == 1 {
				want++
			}
			if got := Round(at, value); uint32(got) != want {
				t.Fatalf("%s: %v between %v and %v becomes %#x, want %#x", at, value, low, high, got, want)
			}
			if got, want := Round(at, -value), uint16(want|1<<(8*at.Bytes()-1)); got != want {
				t.Fatalf("%s: %v becomes %#x, want %#x", at, -value, got, want)
			}
		}
		if got := single(at, uint32(Round(at, 1e30))); at == operator.F8E4M3 && got != 448 || at == operator.F16 && !math.IsInf(float64(got), 1) {
			t.Errorf("%s: 1e30 becomes %v", at, got)
		}
	}
}

func TestNarrowAndWiden(t *testing.T) {
	var from []byte
	for _, x := range []float32{1, -0.5, 448, 0, 3} {
		from = binary.LittleEndian.AppendUint32(from, math.Float32bits(x))
	}
	for _, at := range small16 {
		narrow := Narrow(at, from)
		if int64(len(narrow)) != 5*at.Bytes() || string(Widen(at, narrow)) != string(from) {
			t.Errorf("%s: %x", at, narrow)
		}
	}
}
