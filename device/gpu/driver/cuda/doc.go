// Package cuda drives NVIDIA's GPUs for package gpu. The driver is called through gorgonia.org/cu or, for features that
// gorgonia.org/cu lacks, through its C interface. The GPU's clock is read through NVML.
//
// The package must be built with the tag cuda, which the Makefile sets. If a program is built without the tag cuda, the
// package's driver finds no GPU and returns an error that says how to build with it.
package cuda

import (
	"encoding/binary"

	"autotune/device/gpu"
	"autotune/internal/cubin"
)

func Driver() gpu.Driver { return driver{} }

type driver struct{}

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
