package cubin

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// What fills up the end of a kernel is no part of it.
func TestInstructions(t *testing.T) {
	one := func(opcode uint16) []byte {
		return append(binary.LittleEndian.AppendUint16(nil, opcode|0x7000), make([]byte, instructionBytes-2)...)
	}
	const exit, branch = 0x94d, 0x947
	for _, c := range []struct {
		opcodes []uint16
		want    int
	}{
		{nil, 0}, {[]uint16{0x202, exit}, 2}, {[]uint16{0x202, nop, exit, branch, nop, nop}, 3}, {[]uint16{nop}, 0},
	} {
		var text []byte
		for _, o := range c.opcodes {
			text = append(text, one(o)...)
		}
		if got := instructions(text); got != c.want {
			t.Errorf("%x: %d, want %d", c.opcodes, got, c.want)
		}
	}
}

// Whatever a file holds, its notes are read or refused, and it stays as it is.
func FuzzReadNotes(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, code []byte) {
		before := bytes.Clone(code)
		if n, err := ReadNotes(code); err == nil && (n.Instructions < 0 || n.Instructions > len(code) || n.Together > len(code)) {
			t.Errorf("%+v", n)
		}
		if !bytes.Equal(before, code) {
			t.Error("the file was changed")
		}
	})
}
