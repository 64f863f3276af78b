package devices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/cuda"
	"autotune/device/emulator"
	"autotune/device/recording"
	"autotune/internal/worker"
	"autotune/operator"
)

// kind holds functions that find and open devices of one kind. The argument of a device's kind is the text after the
// colon in --device, such as 1 in cuda:1, or "" if there is none.
type kind struct {
	check func(argument string) error // checks the argument, if any; nil: all are valid
	// open opens a device. The result `notice` is a text for the user that says which device was opened, or "" for a
	// GPU.
	open func(ctx context.Context, argument string, a asked, o Options) (d device.Device, notice string, err error)
	// limits returns the limits of the device that the function `open` would open, and the device's name in `from`.
	limits func(ctx context.Context, argument string, a asked) (l operator.Limits, from string, err error)
	// list describes the devices of one kind that this machine has.
	list func(ctx context.Context) []Listing
}

// kindsByName has a row for each kind of device in device.Kinds.
var kindsByName = map[device.Kind]kind{
	device.CUDA:     {check: checkGPUs, open: openGPU, limits: limitsOfGPU, list: listGPUs},
	device.Emulator: {open: openEmulator, limits: limitsOfEmulator, list: listEmulator},
	device.Replay:   {open: openRecording, limits: limitsOfRecording, list: listRecordings},
}

// Listing describes a device of this machine, or says why there is none.
type Listing struct {
	Device string // as --device takes it; "" goes on about the device before
	About  string
	Err    error // what is missing, or nil
	// Problems lists the problems that a recording contains, if the device is a replay.
	Problems []string
}

func List(ctx context.Context) []Listing {
	var all []Listing
	for _, p := range device.Kinds() {
		all = append(all, kindsByName[p.Kind].list(ctx)...)
	}
	return all
}

func openEmulator(_ context.Context, _ string, _ asked, o Options) (device.Device, string, error) {
	d, err := emulator.Open(emulator.Options{Sanitize: o.Sanitize, CacheDir: o.CacheDir})
	return d, "kernels run on the CPU emulator; times say nothing about a GPU", err
}

func limitsOfEmulator(context.Context, string, asked) (operator.Limits, string, error) {
	return emulator.Limits(), "the CPU emulator, which has those of an sm_90 GPU", nil
}

func listEmulator(ctx context.Context) []Listing {
	e, err := emulator.Open(emulator.Options{})
	if err != nil {
		return []Listing{{Device: "emulator", Err: err}}
	}
	defer e.Close()
	about := fmt.Sprintf("%s, compiler: %s", e.Info().Name, e.Info().Compiler)
	return []Listing{{Device: "emulator", About: about}, {About: emulator.Walls(ctx, e)}}
}

func openRecording(ctx context.Context, file string, a asked, _ Options) (device.Device, string, error) {
	found, err := findRecording(ctx, file, a)
	if err != nil {
		return nil, "", err
	}
	p, err := a.bind(found.Metadata.Device.Limits)
	if err != nil {
		return nil, "", err
	}
	if want := found.Metadata.Problem.Text; p.String() != want {
		return nil, "", fmt.Errorf("%w: it holds %s, not %s", recording.ErrProblem, want, p)
	}
	return recording.Replay(found), "replay of " + found.Metadata.Origin() + "; nothing is measured here", nil
}

func limitsOfRecording(ctx context.Context, file string, a asked) (operator.Limits, string, error) {
	found, err := findRecording(ctx, file, a)
	if err != nil {
		return operator.Limits{}, "", err
	}
	return found.Metadata.Device.Limits, "the recorded " + found.Metadata.Device.Name, nil
}

// findRecording reads the named file, or finds a shipped recording of exactly the requested problem if no file is
// named.
func findRecording(ctx context.Context, file string, a asked) (*recording.Recording, error) {
	if file != "" {
		return recording.Load(ctx, file)
	}
	entry, _, err := recording.FindRequest(recording.Shipped(), a.operator, a.request, nil)
	if errors.Is(err, recording.ErrNotFound) {
		return nil, fmt.Errorf("no recording of %s %s with these parameters is shipped; `autotune devices` lists those that are: %w",
			a.operator.Name, operator.FormatShape(a.request.Shape), device.ErrNone)
	}
	if err != nil {
		return nil, err
	}
	return recording.LoadFS(recording.Shipped(), entry.Name)
}

func listRecordings(context.Context) []Listing {
	shipped, err := recording.List(recording.Shipped())
	if err != nil {
		return []Listing{{Device: "replay", Err: err}}
	}
	var all []Listing // one line for each device and day
	for _, r := range shipped {
		m := r.Metadata
		about := fmt.Sprintf("recorded on %s, %s", m.Device.Name, m.RecordedAt.Format(time.DateOnly))
		if unusual := m.Protocol.Conditions.Unusual(); unusual != "" {
			about += ", " + unusual
		}
		at := slices.IndexFunc(all, func(l Listing) bool { return l.About == about })
		if at < 0 {
			at = len(all)
			all = append(all, Listing{Device: "replay", About: about})
		}
		all[at].Problems = append(all[at].Problems, m.Problem.Text)
	}
	if len(all) == 0 {
		all = append(all, Listing{Device: "replay", About: "no recordings are shipped in this binary; replay:FILE replays one"})
	}
	return all
}

// Dispatch must be the first call in main of a program that searches. Compilers and GPUs run in child processes of the
// same executable. In a child process that compiles or runs kernels, Dispatch does the child's work and does not
// return.
func Dispatch() {
	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker, "cuda": cuda.Worker})
}

func openGPU(ctx context.Context, argument string, _ asked, o Options) (device.Device, string, error) {
	d, err := cuda.Open(ctx, ordinal(argument), cuda.Options{CacheDir: o.CacheDir, Sanitize: o.Sanitize})
	return d, "", err
}

// checkGPUs accepts the number of a GPU, several numbers separated by commas, or all.
func checkGPUs(argument string) error {
	if argument == everyGPU {
		return nil
	}
	all := strings.Split(argument, ",")
	for i, one := range all {
		if n, err := strconv.Atoi(one); err != nil || n < 0 {
			return fmt.Errorf("--device %[1]s:%[2]s: want %[1]s:N with N the GPU's number; `autotune devices` lists them; "+
				"of several GPUs %[1]s:0,1 or %[1]s:all", device.CUDA, argument)
		}
		if slices.Contains(all[:i], one) {
			return fmt.Errorf("--device %s:%s: the GPU %s is named twice", device.CUDA, argument, one)
		}
	}
	return nil
}

// ordinal returns the first GPU number in an argument that checkGPUs has accepted, or 0 if the argument is empty.
func ordinal(argument string) int {
	first, _, _ := strings.Cut(argument, ",")
	n, _ := strconv.Atoi(first)
	return n
}

func severalGPUs(ctx context.Context, argument string) ([]string, error) {
	if argument != everyGPU {
		return strings.Split(argument, ","), nil
	}
	found, err := cuda.List(ctx)
	var all []string
	for i := range found {
		all = append(all, strconv.Itoa(i))
	}
	return all, err
}

func limitsOfGPU(ctx context.Context, argument string, _ asked) (operator.Limits, string, error) {
	found, err := cuda.List(ctx)
	if err != nil {
		return operator.Limits{}, "", err
	}
	n := ordinal(argument)
	if n >= len(found) {
		return operator.Limits{}, "", fmt.Errorf("there is no %s:%d; `autotune devices` lists the GPUs: %w",
			device.CUDA, n, device.ErrNone)
	}
	// The architecture that kernels are compiled for also depends on the compiler's version.
	limits, version := found[n].Limits, ""
	if c, err := compile.NVRTC(ctx); err == nil {
		defer c.Close()
		version = c.Version()
	}
	limits.Target = compile.Target(version, limits.Arch)
	return limits, found[n].Name, nil
}

func listGPUs(ctx context.Context) []Listing {
	var all []Listing
	found, err := cuda.List(ctx)
	if err != nil {
		all = append(all, Listing{Device: string(device.CUDA), Err: err})
	}
	for i, one := range found {
		about := fmt.Sprintf("%s, sm_%d, %d multiprocessors, %.0f GiB, driver %s",
			one.Name, one.Limits.Arch, one.Limits.SMs, float64(one.Limits.MemoryBytes)/(1<<30), one.Driver)
		all = append(all, Listing{Device: fmt.Sprintf("%s:%d", device.CUDA, i), About: about})
	}
	c, err := compile.NVRTC(ctx)
	if err != nil {
		return append(all, Listing{Err: err})
	}
	defer c.Close()
	return append(all, Listing{About: fmt.Sprintf("compiler: %s, %d at once", c.Version(), c.Workers())})
}

// Sanitizing returns the kind of device on which memory accesses are checked if --device names none: a GPU if the
// machine has a GPU and the tool compute-sanitizer, otherwise the emulator.
func Sanitizing(ctx context.Context) device.Kind {
	_, err := cuda.FindSanitizer()
	if err == nil {
		_, err = cuda.List(ctx)
	}
	if err != nil {
		return device.Emulator
	}
	return device.CUDA
}
