package devices

import (
	"slices"
	"testing"

	"autotune/device"
	"autotune/internal/test/must"
	"autotune/internal/test/toy"
	"autotune/operator"
)

func TestSeveral(t *testing.T) {
	for text, want := range map[string][]string{
		"cuda":       {""},
		"cuda:1":     {"1"},
		"cuda:0,1":   {"0", "1"},
		"cuda:3,1,2": {"3", "1", "2"},
		"emulator":   {""},
		"emulator*3": {"", "", ""},
		"replay:a,b": {"a,b"},
		"replay:a*b": {"a*b"},
	} {
		spec, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		if got, err := spec.Arguments(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("the devices of %q are %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"cuda:0,", "cuda:0,0", "cuda:0,x", "cuda:all,0", "emulator*0", "emulator*65", "emulator*", "emulator*x", "cuda*-1", "gpu*2"} {
		if spec, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %+v", text, spec)
		}
	}
	if NewOpener(Spec{Kind: device.Replay, Argument: "a,b"}, Options{}).Several() {
		t.Error("a recording whose name has a comma is several devices")
	}
}

// One device is that device, however it is named: no worker, no server.
func TestOneIsNotSeveral(t *testing.T) {
	op, err := operator.Find("max_pool2d")
	toy.Must(t, err)
	for _, name := range []string{"emulator", "emulator*1"} {
		spec, err := Parse(name)
		toy.Must(t, err)
		opener := NewOpener(spec, Options{CacheDir: t.TempDir()})
		opened, err := opener.Open(t.Context(), op, operator.Request{Shape: []int64{1, 1, 8, 8}})
		toy.Must(t, err)
		if d, ok := opened.Device.(device.Pool); ok {
			t.Errorf("%s is a pool: %v", name, d.Workers())
		}
		must.OK(t, opener.Close())
	}
}

func TestWorkerName(t *testing.T) {
	for want, got := range map[string]string{
		"cuda-3":     WorkerName(Spec{device.CUDA, "3"}, "3", 0),
		"cuda-0":     WorkerName(Spec{}, "", 0),
		"emulator-2": WorkerName(Spec{device.Emulator, "*3"}, "", 2),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
