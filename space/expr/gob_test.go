package expr

import (
	"bytes"
	"encoding/gob"
	"math"
	"testing"
)

// A value that is encoded and decoded by gob is unchanged.
func TestGob(t *testing.T) {
	for _, v := range []Value{{}, Int(-1 << 63), Float(0.1), Float(math.Inf(-1)), Bool(true), String("x")} {
		var b bytes.Buffer
		var got Value
		if err := gob.NewEncoder(&b).Encode(v); err != nil {
			t.Fatal(err)
		}
		if err := gob.NewDecoder(&b).Decode(&got); err != nil || got != v {
			t.Errorf("%#v came out as %#v, %v", v, got, err)
		}
	}
	for _, data := range []string{"", "12345678", "\x09abcdefgh"} {
		if err := new(Value).GobDecode([]byte(data)); err == nil {
			t.Errorf("%q is taken for a value", data)
		}
	}
}
