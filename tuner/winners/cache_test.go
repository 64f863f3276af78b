package winners

import (
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/emulator"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner"
)

// kept returns a winner of a convolution that was found on a device some hours ago.
func kept(t *testing.T, name string, kind device.Kind, arch int, math string, hours int) Kept {
	t.Helper()
	op, err := operator.Find("conv2d")
	must.OK(t, err)
	limits := emulator.Limits()
	limits.Arch = arch
	p, err := op.Bind(operator.Request{Shape: []int64{1, 4, 9, 9}, Math: math}, limits)
	must.OK(t, err)
	return Kept{Record: tuner.Record{
		Problem: p.Record(), Device: device.Info{Name: name, Kind: kind, Limits: limits},
		At: time.Date(2025, 11, 22, 12-hours, 0, 0, 0, time.UTC),
	}}
}

// A request chooses among the winners in the cache, which are listed from the newest to the oldest.
func TestCandidates(t *testing.T) {
	op, err := operator.Find("conv2d")
	must.OK(t, err)
	emulated := kept(t, "CPU emulator (a CPU)", device.Emulator, 90, "auto", 0)
	h200 := kept(t, "NVIDIA H200", device.CUDA, 90, "auto", 1)
	h100 := kept(t, "NVIDIA H100", device.CUDA, 90, "auto", 2)
	v100 := kept(t, "Tesla V100", device.CUDA, 70, "auto", 3)
	fp32 := kept(t, "NVIDIA H100", device.CUDA, 90, "fp32", 0)
	asked32 := fp32 // PyTorch chose its math mode
	asked32.Problem.MathBy = "as PyTorch does"
	without := h100
	without.Device.Limits = operator.Limits{}
	warm := h100
	warm.Protocol.Conditions.L2 = device.Warm
	for name, test := range map[string]struct {
		winners      []Kept
		device, math string
		want         string // device and math mode of the chosen winner, or the error
	}{
		"a GPU before the emulator":      {[]Kept{emulated, h100}, "auto", "auto", "NVIDIA H100 tf32"},
		"the emulator if it is all":      {[]Kept{emulated}, "auto", "auto", "CPU emulator (a CPU) tf32"},
		"the emulator if asked for":      {[]Kept{emulated, h100}, "emulator", "auto", "CPU emulator (a CPU) tf32"},
		"the newest GPU":                 {[]Kept{emulated, h200, h100}, "auto", "auto", "NVIDIA H200 tf32"},
		"a GPU by its name":              {[]Kept{emulated, h200, h100}, "h100", "auto", "NVIDIA H100 tf32"},
		"a GPU by its kind":              {[]Kept{emulated, h200, h100}, "cuda", "auto", "NVIDIA H200 tf32"},
		"auto is tf32 where the GPU can": {[]Kept{fp32, h100}, "auto", "auto", "NVIDIA H100 tf32"},
		"auto is fp32 where it cannot":   {[]Kept{fp32, v100}, "auto", "auto", "Tesla V100 fp32"},
		"auto is what PyTorch said":      {[]Kept{asked32, h100}, "auto", "auto", "NVIDIA H100 fp32"},
		"a mode that is named":           {[]Kept{h200, fp32, v100}, "auto", "fp32", "NVIDIA H100 fp32"},
		"of a document without limits":   {[]Kept{without}, "auto", "auto", "NVIDIA H100 tf32"},
		"another mode":                   {[]Kept{fp32}, "auto", "auto", "it holds one for --math fp32"},
		"another device":                 {[]Kept{emulated, h100}, "a100", "auto", "on a device called a100; it holds those of CPU emulator (a CPU), NVIDIA H100"},
		"under the usual conditions":     {[]Kept{warm, h200}, "auto", "auto", "NVIDIA H200 tf32"},
		"under other conditions":         {[]Kept{warm}, "auto", "auto", "timed with cold L2, direct launches; it holds one timed with warm L2, direct launches (--l2 warm --launch direct)"},
		"none":                           {nil, "auto", "auto", "run `autotune search` first"},
	} {
		r := Request{Operator: op, Request: operator.Request{Shape: []int64{1, 4, 9, 9}, Math: test.math}, Device: test.device}
		candidates, err := r.among(test.winners)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = candidates[0].Device.Name + " " + candidates[0].Problem.Math
		}
		if err != nil && !strings.Contains(got, test.want) || err == nil && got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
