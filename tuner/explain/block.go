package explain

import (
	"autotune/device/trial"
	"autotune/operator"
)

// Block is what a block takes of a multiprocessor, and how many fit. A limit of 0 is not known.
type Block struct {
	Threads     int64 `json:"threads,omitempty"`
	ByRegisters int64 `json:"by_registers,omitempty"` // blocks for which there are registers
	ByShared    int64 `json:"by_shared,omitempty"`    // blocks for which there is shared memory
}

// How the hardware hands out registers and shared memory, since Volta.
const (
	registersStep  = 8    // a thread's registers come in steps of
	reservedShared = 1024 // bytes that the driver takes of each block's, since Ampere
)

// blockOf is that of the winner's largest launch.
func blockOf(w trial.Trial, l operator.Limits) (b Block) {
	var dynamic int64
	for _, launch := range w.Launches {
		b.Threads = max(b.Threads, launch.Block[0]*launch.Block[1]*launch.Block[2])
		dynamic = max(dynamic, launch.SharedBytes)
	}
	shared := max(dynamic, w.Resources.SharedBytes)
	if registers := int64(w.Resources.Registers); registers > 0 && b.Threads > 0 && l.RegistersPerSM > 0 {
		steps := (registers + registersStep - 1) / registersStep
		b.ByRegisters = int64(l.RegistersPerSM) / (steps * registersStep * b.Threads)
	}
	if shared > 0 && l.SharedPerSM > 0 {
		b.ByShared = int64(l.SharedPerSM) / (shared + reservedShared)
	}
	return b
}
