package devices

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/cuda"
	"autotune/tuner/device/emulator"
	"autotune/tuner/device/replay"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
)

// kind is how devices of one kind are found and opened. The argument is what
// follows the kind and a colon in --device, "" if nothing does.
type kind struct {
	// check looks at an argument that is given; nil: any will do.
	check func(argument string) error
	// open opens a device and binds the problem to it.
	open func(ctx context.Context, argument string, a asked, o Options) (*Opened, error)
	// bind binds the problem as open would, without a device to open. from says
	// whose limits it is bound to.
	bind func(ctx context.Context, argument string, a asked) (p *operator.Problem, from string, err error)
	// list describes the devices of this kind that are here.
	list func(ctx context.Context) []Listing
}

// kindsByName has a row for each of device.Kinds.
var kindsByName = map[device.Kind]kind{
	device.CUDA:     {check: checkOrdinal, open: openGPU, bind: bindToGPU, list: listGPUs},
	device.Emulator: {open: openEmulator, bind: bindToEmulator, list: listEmulator},
	device.Replay:   {open: openRecording, bind: bindToRecording, list: listRecordings},
}

// Listing is a line about a device that is here, or about why it is not.
type Listing struct {
	Device string // as --device takes it; "" goes on about the device before
	About  string
	Err    error // what is missing; nil if nothing is
}

// List describes the devices of this machine.
func List(ctx context.Context) []Listing {
	var all []Listing
	for _, p := range device.Kinds() {
		all = append(all, kindsByName[p.Kind].list(ctx)...)
	}
	return all
}

func checkOrdinal(argument string) error {
	if n, err := strconv.Atoi(argument); err != nil || n < 0 {
		return fmt.Errorf("--device cuda:%s: want cuda:N with N the GPU's number; `autotune devices` lists them", argument)
	}
	return nil
}

// ordinal is the number that a checked argument gives; 0 without one.
func ordinal(argument string) int {
	n, _ := strconv.Atoi(argument)
	return n
}

func openGPU(ctx context.Context, argument string, a asked, o Options) (*Opened, error) {
	d, err := cuda.Open(ctx, ordinal(argument), o.CacheDir)
	if err != nil {
		return nil, err
	}
	p, err := a.bind(d.Info().Limits)
	return opened(d, p, "", err)
}

func bindToGPU(ctx context.Context, argument string, a asked) (*operator.Problem, string, error) {
	gpus, err := cuda.List(ctx)
	if err != nil {
		return nil, "", err
	}
	n := ordinal(argument)
	if n >= len(gpus) {
		return nil, "", fmt.Errorf("there is no cuda:%d; `autotune devices` lists the GPUs: %w", n, device.ErrNone)
	}
	// What kernels are compiled for depends on the compiler too, if there is one.
	limits, version := gpus[n].Limits, ""
	if c, err := compile.NVRTC(ctx); err == nil {
		defer c.Close()
		version = c.Version()
	}
	limits.Target = compile.Target(version, limits.Arch)
	p, err := a.bind(limits)
	return p, gpus[n].Name, err
}

func listGPUs(ctx context.Context) []Listing {
	var all []Listing
	gpus, err := cuda.List(ctx)
	if err != nil {
		all = append(all, Listing{Device: "cuda", Err: err})
	}
	for i, g := range gpus {
		all = append(all, Listing{Device: fmt.Sprintf("cuda:%d", i), About: fmt.Sprintf("%s, sm_%d, %d multiprocessors, %.0f GiB, driver %s",
			g.Name, g.Limits.Arch, g.Limits.SMs, float64(g.Limits.MemoryBytes)/(1<<30), g.Driver)})
	}
	c, err := compile.NVRTC(ctx)
	if err != nil {
		return append(all, Listing{Err: err})
	}
	defer c.Close()
	return append(all, Listing{About: fmt.Sprintf("compiler: %s, %d at once", c.Version(), c.Workers())})
}

func openEmulator(_ context.Context, _ string, a asked, o Options) (*Opened, error) {
	d, err := emulator.Open(emulator.Options{Sanitize: o.Sanitize, CacheDir: o.CacheDir})
	if err != nil {
		return nil, err
	}
	return opened(d, a.emulated, "kernels run on the CPU emulator; times say nothing about a GPU", nil)
}

func bindToEmulator(_ context.Context, _ string, a asked) (*operator.Problem, string, error) {
	return a.emulated, "the CPU emulator, which has those of an sm_90 GPU", nil
}

func listEmulator(context.Context) []Listing {
	e, err := emulator.Open(emulator.Options{})
	if err != nil {
		return []Listing{{Device: "emulator", Err: err}}
	}
	defer e.Close()
	return []Listing{{Device: "emulator", About: fmt.Sprintf("%s, compiler: %s", e.Info().Name, e.Info().Compiler)}}
}

func openRecording(_ context.Context, file string, a asked, _ Options) (*Opened, error) {
	found, p, err := findRecording(file, a)
	if err != nil {
		return nil, err
	}
	if want := found.Metadata.Problem.Text; p.String() != want {
		return nil, fmt.Errorf("%w: it holds %s, not %s", replay.ErrProblem, want, p)
	}
	return opened(replay.Open(found), p, "replay of "+found.Metadata.Origin()+"; nothing is measured here", nil)
}

func bindToRecording(_ context.Context, file string, a asked) (*operator.Problem, string, error) {
	found, p, err := findRecording(file, a)
	if err != nil {
		return nil, "", err
	}
	return p, "the recorded " + found.Metadata.Device.Name, nil
}

// findRecording reads a file, or finds the recording of exactly this problem in
// the binary, and binds the problem to the GPU that was recorded.
func findRecording(file string, a asked) (*recording.Recording, *operator.Problem, error) {
	if file != "" {
		found, err := recording.Load(file)
		if err != nil {
			return nil, nil, err
		}
		p, err := a.bind(found.Metadata.Device.Limits)
		return found, p, err
	}
	entry, p, err := recording.FindRequest(recording.Shipped(), a.operator, a.request)
	if errors.Is(err, recording.ErrNotFound) {
		return nil, nil, fmt.Errorf("no recording of %s %s with these parameters is shipped; `autotune devices` lists those that are: %w",
			a.operator.Name, operator.FormatShape(a.request.Shape), device.ErrNone)
	}
	if err != nil {
		return nil, nil, err
	}
	found, err := recording.LoadFS(recording.Shipped(), entry.Name)
	return found, p, err
}

func listRecordings(context.Context) []Listing {
	shipped, err := recording.List(recording.Shipped())
	if err != nil {
		return []Listing{{Device: "replay", Err: err}}
	}
	var all []Listing
	for _, r := range shipped {
		m := r.Metadata
		all = append(all, Listing{Device: "replay", About: fmt.Sprintf("%s, recorded on %s, %s", m.Problem.Text, m.Device.Name, m.RecordedAt.Format(time.DateOnly))})
	}
	if len(all) == 0 {
		all = append(all, Listing{Device: "replay", About: "no recordings are shipped in this binary; replay:FILE replays one"})
	}
	return all
}
