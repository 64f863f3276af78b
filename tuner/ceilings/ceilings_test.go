package ceilings

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"autotune/device"
	"autotune/device/emulator"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/operator"
)

// Every kernel that measures a peak computes the right result, on Hopper and on earlier GPUs, so the kernel does all
// the work that is counted. The two kernels for tensor cores have the same code for all types except for one constant,
// so the test compiles each kernel for one type.
func TestPeaks(t *testing.T) {
	d, err := emulator.Open(emulator.Options{CacheDir: testcache.Dir()})
	if err != nil {
		t.Skip(err)
	}
	defer d.Close()
	for _, k := range kinds {
		for _, arch := range []int{90, 80} {
			if (arch == 80) != (k.of == device.PeakFP16) {
				continue
			}
			limits := emulator.Limits()
			if limits.Arch = arch; arch == 80 {
				limits.Target = "sm_80"
			}
			op, err := load()
			must.OK(t, err)
			p, err := op.Bind(operator.Request{Shape: []int64{2, 20}, Parameters: map[string]string{"of": k.of}}, limits)
			must.OK(t, err)
			if rate, err := measure(t.Context(), d, p); err != nil || rate <= 0 {
				t.Errorf("%s of sm_%d: %v, %v", k.of, arch, rate, err)
			}
		}
	}
	for _, k := range kinds {
		if !slices.ContainsFunc(device.PeakNames, func(n struct{ Kind, Name string }) bool { return n.Kind == k.of }) {
			t.Errorf("%s has no name", k.of)
		}
	}
}

// Peaks are stored for each device and driver. If the file of stored peaks is damaged, all peaks are measured anew.
func TestKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "peaks.json")
	one, other := device.Info{Name: "a", Driver: "1"}, device.Info{Name: "a", Driver: "2"}
	if Known(file, one) != nil {
		t.Error("peaks without a file")
	}
	for i, d := range []device.Info{one, other} {
		must.OK(t, Keep(file, d, device.Peaks{device.PeakL2: float64(i + 1)}))
	}
	if a, b := Known(file, one)[device.PeakL2], Known(file, other)[device.PeakL2]; a != 1 || b != 2 {
		t.Errorf("kept %v and %v", a, b)
	}
	for _, text := range []string{"{", `{"a, driver 1":{"l2":-1}}`} {
		must.OK(t, os.WriteFile(file, []byte(text), 0o600))
		if got := Known(file, one); got != nil {
			t.Errorf("%s gives %v", text, got)
		}
	}
	if err := Keep(file, one, device.Peaks{device.PeakL2: 3}); err != nil || Known(file, one)[device.PeakL2] != 3 {
		t.Error(err)
	}
}
