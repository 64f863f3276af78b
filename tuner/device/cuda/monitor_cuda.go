//go:build cuda

package cuda

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ebitengine/purego"
	"gorgonia.org/cu"
)

// monitor reads the GPU's clock through NVML, which is there wherever the
// driver's tools are; where it is not, nothing is known.
type monitor struct {
	handle atomic.Uintptr // 0 until NVML has started

	clockInfo       func(device uintptr, clock uint32, mhz *uint32) int32
	throttleReasons func(device uintptr, reasons *uint64) int32

	// The last look, which is good for a while: NVML may take as long to
	// answer as a variant to measure.
	at       time.Time
	mhz      int
	warnings []string
}

// lookEvery is how old the last look may be.
const lookEvery = 200 * time.Millisecond

const clockSM = 1 // NVML_CLOCK_SM

// startMonitor starts NVML beside the caller's own work: it takes a while, and
// nobody waits for it.
func startMonitor(d cu.Device) *monitor {
	m := &monitor{}
	id, err := pciID(d)
	if err != nil {
		return m
	}
	go m.start(id)
	return m
}

// pciID names the GPU as NVML does, whatever order CUDA counts in.
func pciID(d cu.Device) (string, error) {
	read := reader{device: d}
	id := fmt.Sprintf("%08X:%02X:%02X.0", read.int(cu.PciDomainID), read.int(cu.PciBusID), read.int(cu.PciDeviceID))
	return id, read.err
}

func (m *monitor) start(pci string) {
	library, err := purego.Dlopen("libnvidia-ml.so.1", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return
	}
	var initialise func() int32
	var byPCI func(id string, device *uintptr) int32
	for name, to := range map[string]any{
		"nvmlInit_v2":                               &initialise,
		"nvmlDeviceGetHandleByPciBusId_v2":          &byPCI,
		"nvmlDeviceGetClockInfo":                    &m.clockInfo,
		"nvmlDeviceGetCurrentClocksThrottleReasons": &m.throttleReasons,
	} {
		symbol, err := purego.Dlsym(library, name)
		if err != nil {
			return
		}
		purego.RegisterFunc(to, symbol)
	}
	var device uintptr
	if initialise() == 0 && byPCI(pci, &device) == 0 {
		m.handle.Store(device)
	}
}

// look returns the multiprocessors' clock now, 0 if unknown, and what holds it down.
func (m *monitor) look() (mhz int, warnings []string) {
	device := m.handle.Load()
	if device == 0 || time.Since(m.at) < lookEvery {
		return m.mhz, m.warnings
	}
	m.mhz, m.warnings = 0, nil
	var clock uint32
	if m.clockInfo(device, clockSM, &clock) == 0 {
		m.mhz = int(clock)
	}
	var reasons uint64
	if m.throttleReasons(device, &reasons) == 0 {
		m.warnings = throttleWarnings(reasons)
	}
	m.at = time.Now()
	return m.mhz, m.warnings
}
