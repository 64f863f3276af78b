package devices

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/cuda"
	"autotune/device/emulator"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/internal/worker"
	"autotune/operator"
)

func TestMain(m *testing.M) {
	worker.Dispatch(map[string]func(context.Context, io.Reader, io.Writer) error{"compile": compile.Worker, "cuda": cuda.Worker})
	os.Exit(m.Run())
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		want Spec
		ok   bool
	}{
		{"", Spec{}, true},
		{"auto", Spec{}, true},
		{"cuda", Spec{Kind: device.CUDA}, true},
		{"cuda:1", Spec{device.CUDA, "1"}, true},
		{"emulator", Spec{Kind: device.Emulator}, true},
		{"replay", Spec{Kind: device.Replay}, true},
		{"replay:a:b.json.gz", Spec{device.Replay, "a:b.json.gz"}, true},
		{"cuda:-1", Spec{}, false},
		{"cuda:x", Spec{}, false},
		{"cuda:", Spec{}, false},
		{"replay:", Spec{}, false},
		{"gpu", Spec{}, false},
		{"emulator:2", Spec{}, false},
	} {
		got, err := Parse(test.text)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("Parse(%q) = %+v, %v", test.text, got, err)
		}
	}
}

// Package devices can find, open and list every kind of device that package device knows, by the same names.
func TestEveryKindHasARow(t *testing.T) {
	kinds := device.Kinds()
	if len(kinds) != len(kindsByName) {
		t.Errorf("%d kinds have properties, %d can be opened", len(kinds), len(kindsByName))
	}
	for _, p := range kinds {
		row := kindsByName[p.Kind]
		if row.open == nil || row.limits == nil || row.list == nil {
			t.Errorf("%s lacks a function: %+v", p.Kind, row)
		}
		if p.Kind.Properties() != p || p.Label == "" {
			t.Errorf("the properties of %s are %+v and %+v", p.Kind, p.Kind.Properties(), p)
		}
		if p.Measures && !p.Compiles {
			t.Errorf("%s measures kernels that are not compiled for it", p.Kind)
		}
		if spec, err := Parse(string(p.Kind)); err != nil || spec.Kind != p.Kind {
			t.Errorf("Parse(%s) = %+v, %v", p.Kind, spec, err)
		}
	}
	if got, want := FormsText(), "auto, cuda, cuda:N, emulator, replay or replay:FILE"; got != want {
		t.Errorf("FormsText() = %q, want %q", got, want)
	}
	if unknown := device.Kind("abacus").Properties(); unknown != (device.Properties{}) {
		t.Errorf("an unknown kind has %+v", unknown)
	}
}

// Every line in the list of devices says what the device is or what is missing, and the name in that line is valid for
// --device.
func TestList(t *testing.T) {
	for _, l := range List(t.Context()) {
		if (l.About == "") == (l.Err == nil) {
			t.Errorf("%+v says nothing, or two things", l)
		}
		if l.Device == "" {
			continue
		}
		if _, err := Parse(l.Device); err != nil {
			t.Errorf("--device %s: %v", l.Device, err)
		}
	}
}

// On a machine without a GPU, auto takes a shipped recording, or the emulator if the problem is small enough;
// otherwise it returns an error that says what to do.
func TestAutoWithoutGPU(t *testing.T) {
	if _, err := cuda.List(t.Context()); err == nil {
		t.Skip("this machine has a GPU")
	}
	for _, test := range []struct {
		name, operator, shape string
		parameters            map[string]string
		kind                  device.Kind
		err                   string
	}{
		{"recorded", "conv2d", "16x16x1024x1024", nil, device.Replay, ""},
		{"another parameter than recorded", "conv2d", "16x16x1024x1024", map[string]string{"padding": "1"}, "", "nothing here can run"},
		{"small", "max_pool2d", "1x1x8x8", nil, device.Emulator, ""},
		{"wrong on every device", "max_pool2d", "1x1x8x8", map[string]string{"stride": "0"}, "", "stride"},
	} {
		t.Run(test.name, func(t *testing.T) {
			op, err := operator.Find(test.operator)
			must.OK(t, err)
			shape, err := operator.ParseShape(test.shape)
			must.OK(t, err)
			var awaited []string
			opener := NewOpener(Spec{}, Options{CacheDir: t.TempDir(), Await: func(what string) func() {
				awaited = append(awaited, what)
				return func() { awaited = append(awaited, "there") }
			}})
			defer opener.Close()
			c, err := opener.Open(t.Context(), op, operator.Request{Shape: shape, Parameters: test.parameters})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v; want one about %q", err, test.err)
				}
				return
			}
			must.OK(t, err)
			if want := []string{"opening the device", "there"}; !slices.Equal(awaited, want) {
				t.Errorf("awaited %q, want %q", awaited, want)
			}
			if got := c.Device.Info().Kind; got != test.kind || c.Notice == "" {
				t.Errorf("took %s with notice %q; want %s and a notice", got, c.Notice, test.kind)
			}
		})
	}
}

func TestTooLargeForTheDevice(t *testing.T) {
	op, err := operator.Find("max_pool2d")
	must.OK(t, err)
	opener := NewOpener(Spec{Kind: device.Emulator}, Options{})
	defer opener.Close()
	_, err = opener.Open(t.Context(), op, operator.Request{Shape: []int64{1 << 20, 1 << 10, 64, 64}})
	if !errors.Is(err, device.ErrMemory) || !strings.Contains(err.Error(), "GiB") {
		t.Errorf("error %v; want ErrMemory with what it takes and what there is", err)
	}
}

// described is a test device that can describe itself, but not run kernels.
type described struct {
	device.Device
	about device.Info
}

func (d described) Info() device.Info { return d.about }

// On a GPU, PyTorch decides what `--math auto` means. PyTorch is replaced in this test by a fake that logs every
// question.
func TestAutoMath(t *testing.T) {
	testneeds.NumPy.Need(t)
	fake, err := filepath.Abs("../torchmath/testdata/fake")
	must.OK(t, err)
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	t.Setenv("FAKE_LOG", log)
	for _, test := range []struct {
		name, operator, math string
		kind                 device.Kind
		rounds               string // "": there is no torch
		want, by             string
		asked                bool
	}{
		{"against the rule", "conv2d", "auto", device.CUDA, "tf32_even", "tf32_even", "as PyTorch 2.99.0 with cuDNN 99000 does on this GPU", true},
		{"by the rule", "conv2d", "", device.CUDA, "tf32", "tf32", "as PyTorch 2.99.0 with cuDNN 99000 does on this GPU", true},
		{"in a way without a mode", "conv2d", "", device.CUDA, "truncation", "tf32", "by the operator's rule: PyTorch 2.99.0 with cuDNN 99000 rounds by truncation, for which there is no mode", true},
		{"a mode that is named", "conv2d", "fp32", device.CUDA, "tf32", "fp32", "", false},
		{"on the emulator", "conv2d", "auto", device.Emulator, "tf32_even", "tf32", "", false},
		{"an operator that asks nobody", "matmul", "auto", device.CUDA, "tf32", "fp32", "", false},
		{"without PyTorch", "conv2d", "auto", device.CUDA, "", "tf32", "by the operator's rule: python3 has no torch", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("PYTHONPATH", fake)
			if t.Setenv("FAKE_ROUNDS", test.rounds); test.rounds == "" {
				t.Setenv("PYTHONPATH", t.TempDir())
				if exec.Command("python3", "-c", "import torch").Run() == nil {
					t.Skip("python3 has a torch of its own")
				}
			}
			op, err := operator.Find(test.operator)
			must.OK(t, err)
			shape := []int64{1, 4, 9, 8}
			a, err := ask(op, operator.Request{Shape: shape, Math: test.math})
			must.OK(t, err)
			limits := emulator.Limits()
			p, err := a.bind(limits)
			must.OK(t, err)
			for _, way := range []struct {
				unsettled bool
				memory    int64 // if the problem leaves PyTorch little memory, the search waits for its answer
				later     bool
			}{{false, 1 << 30, false}, {true, 2 * p.MemoryBytes(), false}, {true, 1 << 30, true}} {
				_ = os.Remove(log)
				limits.MemoryBytes = way.memory
				d := described{about: device.Info{Name: "a GPU", Kind: test.kind, Limits: limits}}
				opened, err := NewOpener(Spec{}, Options{}).bind(t.Context(), a, d, way.unsettled)
				must.OK(t, err)
				mode, by := opened.Problem.Math, opened.Problem.MathBy
				if later := opened.Mode != nil; later != (way.later && test.asked) {
					t.Errorf("the answer comes later: %v", later)
				} else if later {
					c := <-opened.Mode
					if by = c.By; c.Err != nil {
						other := c.Err.(*OtherMode)
						mode, by = other.Name, other.By
					}
				}
				if _, err := os.Stat(log); mode != test.want || by != test.by || (err == nil) != test.asked {
					t.Errorf("%s, %q, asked %v; want %s, %q, %v", mode, by, err == nil, test.want, test.by, test.asked)
				}
			}
		})
	}
}

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

// A --device name that stands for a single device opens that device directly, without workers or a server.
func TestOneIsNotSeveral(t *testing.T) {
	op, err := operator.Find("max_pool2d")
	must.OK(t, err)
	for _, name := range []string{"emulator", "emulator*1"} {
		spec, err := Parse(name)
		must.OK(t, err)
		opener := NewOpener(spec, Options{CacheDir: t.TempDir()})
		opened, err := opener.Open(t.Context(), op, operator.Request{Shape: []int64{1, 1, 8, 8}})
		must.OK(t, err)
		if d, ok := opened.Device.(device.Pool); ok {
			t.Errorf("%s is a pool: %v", name, d.Workers())
		}
		must.OK(t, opener.Close())
	}
}
