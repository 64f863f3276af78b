//go:build cuda

package cuda

import (
	"os"
	"slices"
	"testing"

	"autotune/device/trial"
)

func TestDriverText(t *testing.T) {
	for want, version := range map[string]struct {
		kernel string
		cuda   int
	}{
		"CUDA 12.4":           {"", 12040},
		"580.1.2 (CUDA 13.0)": {"580.1.2", 13000},
	} {
		if got := driverText(version.kernel, version.cuda); got != want {
			t.Errorf("driverText(%+v) = %q, want %q", version, got, want)
		}
	}
}

func TestKernelDriver(t *testing.T) {
	for text, want := range map[string]string{
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\nGCC version:  gcc version 12.2.0\n":                           "535.54.03",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder)  \nGCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1)\n": "580.159.04",
		"": "",
	} {
		if got := kernelDriver(text); got != want {
			t.Errorf("kernelDriver(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestThrottled(t *testing.T) {
	if got := throttled(0x1 | 0x4 | 0x40); !slices.Equal(got, []string{"power limit", "temperature (hardware)"}) {
		t.Errorf("throttled = %q", got)
	}
}

// Who is a stranger on the GPU: not this worker (100), nor another of its parent (1).
func TestStrangers(t *testing.T) {
	parents := map[int]int{100: 50, 101: 50, 200: 1, 201: 1}
	parentOf := func(pid int) (int, bool) {
		parent, here := parents[pid]
		return parent, here
	}
	process := func(pid uint32, memory uint64) nvmlProcess { return nvmlProcess{pid: pid, memory: memory} }
	unknown := trial.Warning{Kind: trial.OtherProcess}
	for _, test := range []struct {
		name         string
		list         []nvmlProcess
		alike, inUse bool
		want         []trial.Warning
	}{
		{"nobody", nil, true, false, nil},
		{"itself", []nvmlProcess{process(100, 5)}, true, true, nil},
		{"another worker of the search", []nvmlProcess{process(101, 5), process(100, 5)}, true, true, nil},
		{"one that has ended", []nvmlProcess{process(999, 5)}, true, false, nil},
		{"a stranger", []nvmlProcess{process(200, 5), process(100, 5)}, true, true, []trial.Warning{{Kind: trial.OtherProcess, PID: 200, Bytes: 5}}},
		{"two, of which one does not tell its memory", []nvmlProcess{process(200, unknownMemory), process(201, 7)}, true, false,
			[]trial.Warning{{Kind: trial.OtherProcess, PID: 200}, {Kind: trial.OtherProcess, PID: 201, Bytes: 7}}},
		{"itself in a container", []nvmlProcess{process(4711, 5)}, false, true, nil},
		{"a stranger in a container, before it has a context", []nvmlProcess{process(4711, 5)}, false, false, []trial.Warning{unknown}},
		{"itself and a stranger in a container", []nvmlProcess{process(4711, 5), process(200, 5)}, false, true, []trial.Warning{unknown}},
		{"a container whose processes the driver knows", []nvmlProcess{process(100, 5), process(200, 6)}, false, true, []trial.Warning{{Kind: trial.OtherProcess, PID: 200, Bytes: 6}}},
	} {
		if got := strangers(test.list, 100, test.alike, test.inUse, parentOf); !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	if parent, here := parentProcess(os.Getpid()); !here || parent != os.Getppid() {
		t.Errorf("the parent of this process is %d, %v", parent, here)
	}
}
