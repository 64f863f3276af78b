package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/device/remote/pool"
	"autotune/device/remote/poolworker"
	"autotune/reports"
	"autotune/tuner/devices"
)

func devicesCommand() *cli.Command {
	return &cli.Command{
		Name:        "devices",
		Usage:       "list the GPUs, compilers, emulator and recordings of this machine",
		Description: "Works on any machine. Where something is missing, it says what to install.",
		Flags:       []cli.Flag{jsonFlag()},
		Action:      devicesAction,
	}
}

// listing is what `devices --json` writes of a device that is here, or of what
// is missing.
type listing struct {
	Device string `json:"device,omitempty"` // as --device takes it; absent: about the one before
	About  string `json:"about,omitempty"`
	// Problems are those of recordings.
	Problems []string `json:"problems,omitempty"`
	Missing  string   `json:"missing,omitempty"`
}

func devicesAction(c *cli.Context) error {
	said := await(c, "looking for devices")
	list, all := devices.List(c.Context), []listing{}
	said.done()
	for i, l := range list {
		one := listing{Device: l.Device, About: l.About, Problems: l.Problems}
		if l.Err != nil {
			one.Missing = missing(l.Err)
			list[i].About = one.Missing
		}
		all = append(all, one)
	}
	return writeDocument(c, all, reports.DevicesTable(list))
}

// missing says why something is not there, without the general part.
func missing(err error) string {
	if errors.Is(err, device.ErrNone) || errors.Is(err, compile.ErrMissing) {
		return "none: " + explain(err)
	}
	return explain(err)
}

func workerCommand() *cli.Command {
	return &cli.Command{
		Name:        "worker",
		Usage:       "offer a device to every search that uses the same NATS server",
		Description: "Compiles, verifies and times what searches ask for, until it is interrupted. `autotune search OPERATOR --nats URL` uses it. It runs the kernels of whoever the server lets in.",
		Flags: append(natsFlags(),
			&cli.StringFlag{Name: "device", Value: "cuda", Usage: "`DEVICE` to offer: cuda:N, or emulator; cuda:0,1 and cuda:all are several workers in one process"},
			&cli.StringFlag{Name: "name", Usage: "what it is called, as `NAME` (default: the host's, the device's and a random part)"},
			&cli.IntFlag{Name: "compilers", Usage: "compile `N` kernels at once for all workers of this process; 0: one a core"},
			&cli.StringFlag{Name: "disk", Usage: "let the data files of operators take at most this `SIZE` of the temporary folder's disk (default: 4GB)"},
			&cli.BoolFlag{Name: "python", Usage: "run the Python files of operators that say what is right; they may do all that this user may"},
			&cli.StringFlag{Name: "memory", Usage: "let tensors take at most this `SIZE` of the device's memory, as 40GB (default: four fifths)"},
		),
		Action: workerAction,
	}
}

func workerAction(c *cli.Context) (err error) {
	spec, err := devices.Parse(c.String("device"))
	if err == nil {
		err = spec.CheckRuns()
	}
	if err != nil {
		return err
	}
	if c.NArg() > 0 {
		return fmt.Errorf("a worker serves every operator; got %s", c.Args().First())
	}
	spool := &poolworker.Spool{}
	o := poolworker.Options{Compilers: c.Int("compilers"), Python: c.Bool("python"), Spool: spool}
	if o.Compilers < 0 {
		return errors.New("--compilers takes a number that is not negative")
	}
	for name, bytes := range map[string]*int64{"memory": &o.Memory, "disk": &spool.Most} {
		if !c.IsSet(name) {
			continue
		}
		size, err := quantity(c, name, sizeUnits, 1<<60)
		if err != nil {
			return err
		}
		*bytes = int64(size)
	}
	if name := c.String("name"); name != "" && !remote.GoodName(name) {
		return fmt.Errorf("--name %s: letters, digits, - and _ are allowed, 64 at most", name)
	}
	b, err := connectFor(c, "worker", nil)
	if err != nil {
		return err
	}
	b.Close() // it answers; each worker has a connection of its own
	options := devices.Options{}
	options.CacheDir, _ = cacheDir()
	all, err := devices.OpenAll(c.Context, spec, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, devices.CloseAll(all), spool.Close()) }()
	arguments, err := spec.Arguments(c.Context)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(c.Context)
	for i, d := range all {
		own := o
		own.Name = workerName(c.String("name"), devices.WorkerName(spec, arguments[i], i), len(all) > 1)
		own.Compilers = cmp.Or(own.Compilers, max(1, d.Compiler().Workers()/len(all)))
		group.Go(func() error { return serve(ctx, c, d, own) })
	}
	if err := group.Wait(); err != nil {
		return withCode(exitDevice, err)
	}
	return nil
}

// workerName is the name that is asked for, with the device's if there are several; or
// one that nobody else has.
func workerName(asked, device string, several bool) string {
	switch {
	case asked != "" && several:
		return remote.Name(asked + "-" + device)
	case asked != "":
		return asked
	}
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	return remote.Name(host[:min(len(host), 32)] + "-" + device + "-" + strings.ToLower(rand.Text()[:4]))
}

// serve is one worker, from its connection to its end.
func serve(ctx context.Context, c *cli.Context, d device.Device, o poolworker.Options) error {
	o.Say = func(text string) { say(os.Stderr, "autotune: worker "+o.Name+": "+text) }
	b, err := connectFor(c, o.Name, o.Say)
	if err != nil {
		return err
	}
	defer b.Close()
	say(os.Stderr, fmt.Sprintf("autotune: worker %s offers %s, and times its control", o.Name, d.Info().Name))
	if walls := devices.Walls(ctx, d); walls != "" {
		o.Say(walls)
	}
	return poolworker.Serve(ctx, b, d, o)
}

func workersCommand() *cli.Command {
	return &cli.Command{
		Name:        "workers",
		Usage:       "list the workers at a NATS server",
		Description: "Shows of each worker its device, whether it takes jobs, how many it does a second, and how many wait for it. Its control, a fixed kernel, is shown with its first and its last time.",
		Flags:       append(natsFlags(), jsonFlag()),
		Action:      workersAction,
	}
}

// offered is what `workers --json` writes of a worker.
type offered struct {
	Worker    string    `json:"worker"`
	Device    string    `json:"device"`
	Driver    string    `json:"driver,omitempty"`
	Compiler  string    `json:"compiler,omitempty"`
	State     string    `json:"state"`
	Why       string    `json:"why,omitempty"`
	Rate      float64   `json:"rate"` // jobs a second
	Done      int       `json:"done"`
	Compilers int       `json:"compilers"`
	FirstMS   float64   `json:"control_first_ms"`
	LastMS    float64   `json:"control_last_ms"`
	ControlAt time.Time `json:"control_at"`
	Started   time.Time `json:"started_at"`
	Queued    int       `json:"queued"`  // jobs that wait for its device
	Running   int       `json:"running"` // that it is at
}

func workersAction(c *cli.Context) error {
	b, err := connectFor(c, "workers", nil)
	if err != nil {
		return err
	}
	defer b.Close()
	said := await(c, "listening to workers")
	beats, err := pool.Look(c.Context, b)
	said.done()
	if err != nil {
		return err
	}
	all := []offered{}
	for _, w := range beats {
		all = append(all, offered{
			Worker: w.Worker, Device: w.Device.Name, Driver: w.Device.Driver, Compiler: w.Device.Compiler, State: string(w.State), Why: w.Why,
			Rate: w.Rate, Done: w.Done, Compilers: w.Compilers, FirstMS: w.Control.FirstMS, LastMS: w.Control.LastMS, ControlAt: w.Control.At, Started: w.Started,
			Queued: w.Waiting, Running: w.Running,
		})
	}
	return writeDocument(c, all, workersText(all))
}

func workersText(all []offered) string {
	lines := ""
	for _, w := range all {
		state := w.State
		if w.Why != "" {
			state += ": " + w.Why
		}
		text := fmt.Sprintf("%s: %s, %s; %.1f jobs/s, %d done; control %s, at its start %s; %d queued, %d running",
			w.Worker, w.Device, state, w.Rate, w.Done, reports.FormatMS(w.LastMS), reports.FormatMS(w.FirstMS), w.Queued, w.Running)
		lines += reports.Wrap(text, tableColumns) + "\n"
	}
	return cmp.Or(lines, "no workers; `autotune worker --nats URL` is one\n")
}

// tableColumns is what fits any terminal.
const tableColumns = 80
