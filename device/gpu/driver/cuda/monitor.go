//go:build cuda

package cuda

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ebitengine/purego"
	"gorgonia.org/cu"

	"autotune/device/gpu"
	"autotune/device/trial"
	"autotune/internal/sharedlib"
)

// monitor reads the GPU's clock, energy counter and processes through
// NVML. Where the driver's tools are missing, NVML is too, and nothing is known.
type monitor struct {
	started chan struct{}  // closed when NVML has started, or will not
	handle  atomic.Uintptr // 0 until NVML has started

	clockInfo    func(device uintptr, clock uint32, mhz *uint32) int32
	clockReasons func(device uintptr, reasons *uint64) int32
	// Each of these is nil where NVML lacks it.
	totalEnergy func(device uintptr, millijoules *uint64) int32
	processes   func(device uintptr, count *uint32, list *nvmlProcess) int32

	inUse  atomic.Bool                     // this process has a context on the GPU, or is about to
	others atomic.Pointer[[]trial.Warning] // who else was there; nil: not known

	last gpu.Reading
	took time.Duration // by the last look: NVML may take as long as a variant's samples
}

// lookEvery is how old the last look may be.
const lookEvery = 200 * time.Millisecond

const clockSM = 1 // NVML_CLOCK_SM

// startMonitor starts NVML beside the caller's own work: it takes a while, and nobody waits for it.
func startMonitor(d cu.Device) *monitor {
	m := &monitor{started: make(chan struct{})}
	id, err := pciID(d)
	if err != nil {
		close(m.started)
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
	defer close(m.started)
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
	optional(library, "nvmlDeviceGetTotalEnergyConsumption", &m.totalEnergy)
	optional(library, "nvmlDeviceGetComputeRunningProcesses_v3", &m.processes)
	var device uintptr
	if initialise() == 0 && byPCI(pci, &device) == 0 {
		m.handle.Store(device)
		m.LookAround()
	}
}

// optional binds a function that NVML may lack.
func optional[F any](library uintptr, name string, to *F) {
	if sharedlib.Bind(library, map[string]any{name: to}) != nil {
		var none F
		*to = none
	}
}

// Look reads the clock of a GPU that is busy for that long. The
// last look serves again while it is young, unless there is time for another.
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

// Energy is what the GPU has used so far, in millijoules; false where NVML
// cannot tell. The counter moves every 20 to 100 ms.
func (m *monitor) Energy() (millijoules uint64, known bool) {
	<-m.started
	device := m.handle.Load()
	if device == 0 || m.totalEnergy == nil {
		return 0, false
	}
	return millijoules, m.totalEnergy(device, &millijoules) == 0
}

// Reasons for which a GPU runs below the clock it could have, as the bits that
// NVML reports; those that say nothing about a measurement are left out.
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

// Company are the other processes on the GPU when it was last looked, as warnings for what is measured from then on.
func (m *monitor) Company() []trial.Warning {
	if others := m.others.Load(); others != nil {
		return *others
	}
	return nil
}

// mostProcesses is how many processes on a GPU are listed.
const mostProcesses = 64

// nvmlProcess is nvmlProcessInfo_t of NVML's second and third version.
type nvmlProcess struct {
	pid                              uint32
	memory                           uint64
	gpuInstance, computeInstanceUsed uint32
}

// LookAround lists who uses the GPU. That takes NVML a millisecond or more: it is
// done when the GPU is opened and before the finals, never between samples.
func (m *monitor) LookAround() {
	device := m.handle.Load()
	if device == 0 || m.processes == nil {
		return
	}
	list := make([]nvmlProcess, mostProcesses)
	count := uint32(len(list))
	if m.processes(device, &count, &list[0]) != 0 {
		return
	}
	// This process is among them at the latest when it has a context.
	others := strangers(list[:min(int(count), len(list))], os.Getpid(), numberedAlike(), m.inUse.Load(), parentProcess)
	m.others.Store(&others)
}

const unknownMemory = ^uint64(0) // NVML_VALUE_NOT_AVAILABLE

// strangers are the processes that are none of this program's: not the worker self, and no other child of its parent,
// as a worker that is about to go. In a container, NVML's numbers are not the system's. There self is one of the list
// if it uses the GPU already, and nothing is known of the others.
func strangers(list []nvmlProcess, self int, alike, inUse bool, parentOf func(pid int) (int, bool)) []trial.Warning {
	warnings := []trial.Warning{}
	if !alike && !slices.ContainsFunc(list, func(p nvmlProcess) bool { return int(p.pid) == self }) {
		if len(list) > 1 || len(list) == 1 && !inUse {
			warnings = append(warnings, trial.Warning{Kind: trial.OtherProcess})
		}
		return warnings
	}
	own, _ := parentOf(self)
	for _, p := range list {
		parent, here := parentOf(int(p.pid))
		if !here || int(p.pid) == self || parent == own {
			continue
		}
		w := trial.Warning{Kind: trial.OtherProcess, PID: int(p.pid)}
		if p.memory != unknownMemory {
			w.Bytes = int64(p.memory)
		}
		warnings = append(warnings, w)
	}
	return warnings
}

// numberedAlike tells whether this process is in the system's first namespace of
// processes, whose numbers the driver knows.
func numberedAlike() bool {
	space, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && space == "pid:[4026531836]" // PROC_PID_INIT_INO
}

func parentProcess(pid int) (parent int, here bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), "\nPPid:")
	_, err = fmt.Sscan(rest, &parent)
	return parent, err == nil
}
