//go:build cuda

package cuda

import (
	"gorgonia.org/cu"

	"autotune/tuner/device/gpu"
)

// module is a binary on the GPU.
type module struct{ cu.Module }

func (c *context) Load(code []byte) (gpu.Module, error) {
	m, err := cu.LoadData(string(code))
	if err != nil {
		return nil, failure(err)
	}
	return module{m}, nil
}

func (m module) Function(symbol string) (gpu.Function, error) {
	f, err := m.Module.Function(symbol)
	if err != nil {
		return nil, failure(err)
	}
	return function{f}, nil
}

func (m module) Global(name string) (gpu.Address, int64, error) {
	at, bytes, err := m.Module.Global(name)
	return gpu.Address(at), bytes, failure(err)
}

func (m module) Unload() error { return failure(m.Module.Unload()) }

// function is one of its kernels.
type function struct{ cu.Function }

func (f function) Needs() (n gpu.Needs, err error) {
	for attribute, to := range map[cu.FunctionAttribute]func(int){
		cu.NumRegs:              func(x int) { n.Registers = x },
		cu.SharedSizeBytes:      func(x int) { n.StaticShared = int64(x) },
		cu.LocalSizeBytes:       func(x int) { n.Local = int64(x) },
		cu.FnMaxThreadsPerBlock: func(x int) { n.MaxThreads = x },
	} {
		value, err := f.Attribute(attribute)
		if err != nil {
			return n, failure(err)
		}
		to(value)
	}
	return n, nil
}

func (f function) Occupancy(threads int, sharedBytes int64) (blocks int, err error) {
	blocks, err = f.MaxActiveBlocksPerMultiProcessor(threads, sharedBytes)
	return blocks, failure(err)
}
