package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/device/remote/fleet"
	"autotune/reports"
	"autotune/tuner/devices"
)

func devicesCommand() *cli.Command {
	var json string
	return command("devices", "list the GPUs, compilers, emulator and recordings of this machine",
		"Works on any machine. Where something is missing, it says what to install.",
		func(ctx context.Context, _ line) error { return listDevices(ctx, json) }, jsonFlag(&json))
}

// listing is an entry of `devices --json`: a device that can be used, or one that cannot and what it lacks.
type listing struct {
	Device string `json:"device,omitempty"` // the value for --device; absent in entries about the previous device
	About  string `json:"about,omitempty"`
	// Problems lists the problems whose searches a recording can replay.
	Problems []string `json:"problems,omitempty"`
	Missing  string   `json:"missing,omitempty"`
}

func listDevices(ctx context.Context, json string) error {
	said := view{}.await("looking for devices")
	list, all := devices.List(ctx), []listing{}
	said.Done()
	for i, l := range list {
		one := listing{Device: l.Device, About: l.About, Problems: l.Problems}
		if l.Err != nil {
			one.Missing = missing(l.Err)
			list[i].About = one.Missing
		}
		all = append(all, one)
	}
	return writeDocument(json, all, reports.DevicesTable(list))
}

func missing(err error) string {
	if errors.Is(err, device.ErrNone) || errors.Is(err, compile.ErrMissing) {
		return "none: " + explain(err)
	}
	return explain(err)
}

type workerFlags struct {
	nats                 natsFlags
	device, name, memory string
	compilers            int
	python               bool
}

func workerCommand() *cli.Command {
	var f workerFlags
	return command("worker", "offer a device to every search that uses the same NATS server",
		"Compiles, verifies and times what searches ask for, until it is interrupted. `autotune search "+
			"OPERATOR --nats URL` uses it. It runs the kernels of whoever the server lets in.",
		func(ctx context.Context, _ line) error { return f.work(ctx) }, append(f.nats.flags(),
			textFlag(&f.device, "device", "cuda", "`DEVICE` to offer: cuda:N or emulator; cuda:0,1 and cuda:all are several"),
			textFlag(&f.name, "name", "", "what it is called, as `NAME` (default: the host's, the device's and a random part)"),
			intFlag(&f.compilers, "compilers", 0, "compile `N` kernels at once for all workers of this process; 0: one a core"),
			boolFlag(&f.python, "python", "run operators' Python references, which may do all that this user may"),
			textFlag(&f.memory, "memory", "", "let tensors take at most this `SIZE` of memory, as 40GB (default: four fifths)"),
		)...)
}

func (f *workerFlags) options() (o fleet.WorkerOptions, err error) {
	o = fleet.WorkerOptions{Compilers: f.compilers, Python: f.python}
	if o.Compilers < 0 {
		return o, errors.New("--compilers takes a number that is not negative")
	}
	if f.memory != "" {
		o.Memory, err = sizeOf("memory", f.memory)
	}
	if err == nil && f.name != "" && !remote.GoodName(f.name) {
		err = fmt.Errorf("--name %s: letters, digits, - and _ are allowed, 64 at most", f.name)
	}
	return o, err
}

func (f *workerFlags) work(ctx context.Context) error {
	spec, err := devices.Parse(f.device)
	if err == nil {
		err = spec.CheckRuns()
	}
	if err != nil {
		return err
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	b, err := f.nats.connect("worker")
	if err != nil {
		return err
	}
	b.Close() // the server answers; workers connect by themselves
	offer := devices.Offer{Login: f.nats.login, Name: f.name, Worker: o, Say: tell}
	offer.CacheDir, _ = cacheDir()
	return withCode(exitDevice, offer.Serve(ctx, spec))
}

func workersCommand() *cli.Command {
	var nats natsFlags
	var json string
	return command("workers", "list the workers at a NATS server",
		"Shows of each worker its device, how many jobs it has done, and how many it has.",
		func(ctx context.Context, _ line) error { return listWorkers(ctx, nats, json) },
		append(nats.flags(), jsonFlag(&json))...)
}

func listWorkers(ctx context.Context, nats natsFlags, json string) error {
	b, err := nats.connect("workers")
	if err != nil {
		return err
	}
	defer b.Close()
	said := view{}.await("listening to workers")
	all, err := b.Look(ctx)
	said.Done()
	if err != nil {
		return err
	}
	return writeDocument(json, append([]remote.Worker{}, all...), workersText(all))
}

func workersText(all []remote.Worker) string {
	lines := ""
	for _, w := range all {
		text := fmt.Sprintf("%s: %s; %d jobs done, %d under way", w.Worker, w.Device.Name, w.Done, w.UnderWay)
		lines += reports.Wrap(text, tableColumns) + "\n"
	}
	return cmp.Or(lines, "no workers; `autotune worker --nats URL` is one\n")
}
