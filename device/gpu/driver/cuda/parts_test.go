//go:build cuda

package cuda

import (
	"slices"
	"testing"
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
