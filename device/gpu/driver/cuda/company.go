//go:build cuda

package cuda

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"autotune/device/trial"
)

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

// parentProcess is a process's parent; false if there is no such process here.
func parentProcess(pid int) (parent int, here bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), "\nPPid:")
	_, err = fmt.Sscan(rest, &parent)
	return parent, err == nil
}
