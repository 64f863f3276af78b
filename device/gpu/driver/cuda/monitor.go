//go:build cuda

package cuda

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ebitengine/purego"
	"gorgonia.org/cu"

	"autotune/device/gpu"
	"autotune/internal/sharedlib"
)

// monitor reads the GPU's clock through NVML. On machines without NVML, which is a part of the driver's tools, the
// clock is unknown.
type monitor struct {
	handle atomic.Uintptr // 0 until NVML has started

	clockInfo    func(device uintptr, clock uint32, mhz *uint32) int32
	clockReasons func(device uintptr, reasons *uint64) int32

	last gpu.Reading
	took time.Duration // time of the last reading: NVML may take as long as a variant's samples
}

// lookEvery is the age up to which a reading of the clock may be used again.
const lookEvery = 200 * time.Millisecond

const clockSM = 1 // NVML_CLOCK_SM

// startMonitor starts NVML in the background, because the start takes a while and no caller needs to wait for it.
func startMonitor(d cu.Device) *monitor {
	m := new(monitor)
	// NVML names a GPU by its PCI address, because its order of GPUs may differ from CUDA's.
	read := reader{device: d}
	pci := fmt.Sprintf("%08X:%02X:%02X.0", read.int(cu.PciDomainID), read.int(cu.PciBusID), read.int(cu.PciDeviceID))
	if read.err == nil {
		go m.start(pci)
	}
	return m
}

func (m *monitor) start(pci string) {
	library, err := purego.Dlopen("libnvidia-ml.so.1", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return
	}
	var initialise func() int32
	var byPCI func(id string, device *uintptr) int32
	if sharedlib.Bind(library, map[string]any{
		"nvmlInit_v2":                               &initialise,
		"nvmlDeviceGetHandleByPciBusId_v2":          &byPCI,
		"nvmlDeviceGetClockInfo":                    &m.clockInfo,
		"nvmlDeviceGetCurrentClocksThrottleReasons": &m.clockReasons,
	}) != nil {
		return
	}
	var device uintptr
	if initialise() == 0 && byPCI(pci, &device) == 0 {
		m.handle.Store(device)
	}
}

// Look reads the clock of a GPU that will be busy for the given time. Look returns the last reading of the clock if the
// reading is recent, and if the GPU will not be busy long enough for a new reading.
func (m *monitor) Look(busy time.Duration) gpu.Reading {
	device := m.handle.Load()
	begin := time.Now()
	if device == 0 || begin.Sub(m.last.At) < lookEvery && m.took > busy/2 {
		return m.last
	}
	m.last = gpu.Reading{At: begin}
	var clock uint32
	if m.clockInfo(device, clockSM, &clock) == 0 {
		m.last.MHz = int(clock)
	}
	var reasons uint64
	if m.clockReasons(device, &reasons) == 0 {
		m.last.Throttled = throttled(reasons)
	}
	m.took = time.Since(begin)
	return m.last
}

// throttleReasons lists the bits with which NVML reports why a GPU runs below its possible clock. throttleReasons
// leaves out reasons of throttling that do not affect a measurement.
var throttleReasons = []struct {
	bit  uint64
	text string
}{
	{0x04, "power limit"},
	{0x08, "hardware slowdown"},
	{0x20, "temperature (driver)"},
	{0x40, "temperature (hardware)"},
	{0x80, "power brake"},
}

func throttled(reasons uint64) []string {
	var texts []string
	for _, r := range throttleReasons {
		if reasons&r.bit != 0 {
			texts = append(texts, r.text)
		}
	}
	return texts
}
