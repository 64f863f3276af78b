package cuda

import (
	"encoding/binary"

	"autotune/internal/cubin"
)

// ParameterBytes is how many bytes the kernel's parameters take.
func (driver) ParameterBytes(code []byte, symbol string) (size int, known bool) {
	file, err := cubin.Open(code)
	if err != nil {
		return 0, false
	}
	for attribute, value := range cubin.Attributes(file, symbol) {
		if attribute == cubin.ParameterSize && len(value) == 2 {
			return int(binary.LittleEndian.Uint16(value)), true
		}
	}
	return 0, false
}
