package expr

import (
	bits "encoding/binary"
	"errors"
)

// GobEncode writes the kind, eight bytes of bits and the text, for processes of one
// program that talk with each other.
func (v Value) GobEncode() ([]byte, error) {
	return append(bits.LittleEndian.AppendUint64([]byte{byte(v.kind)}, v.bits), v.text...), nil
}

// GobDecode reads what GobEncode wrote.
func (v *Value) GobDecode(data []byte) error {
	if len(data) < 9 || Kind(data[0]) > KindString {
		return errors.New("what should be a value is none")
	}
	*v = Value{Kind(data[0]), bits.LittleEndian.Uint64(data[1:]), string(data[9:])}
	return nil
}
