package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"autotune/tuner/device"
	"autotune/tuner/device/remote"
	"autotune/tuner/device/remote/poolworker"
	"autotune/tuner/devices"
)

func workerCommand() *cli.Command {
	return &cli.Command{
		Name:        "worker",
		Usage:       "offer a device to every search that uses the same NATS server",
		Description: "Compiles, verifies and times what searches ask, until it is interrupted. `autotune search OPERATOR --nats URL` uses it. It runs the kernels of whoever the server lets in.",
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
		return badInput(err)
	}
	if c.NArg() > 0 {
		return badInput(fmt.Errorf("a worker serves every operator; got %s", c.Args().First()))
	}
	spool := &poolworker.Spool{}
	o := poolworker.Options{Compilers: c.Int("compilers"), Python: c.Bool("python"), Spool: spool}
	if o.Compilers < 0 {
		return badInput(errors.New("--compilers takes a number that is not negative"))
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
		return badInput(fmt.Errorf("--name %s: letters, digits, - and _ are allowed, 64 at most", name))
	}
	b, err := connectFor(c, "worker")
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
		if own.Compilers == 0 {
			own.Compilers = max(1, d.Compiler().Workers()/len(all))
		}
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
	b, err := connectFor(c, o.Name)
	if err != nil {
		return err
	}
	defer b.Close()
	o.Say = func(text string) { say(os.Stderr, "autotune: worker "+o.Name+": "+text) }
	say(os.Stderr, fmt.Sprintf("autotune: worker %s offers %s, and times its control", o.Name, d.Info().Name))
	return poolworker.Serve(ctx, b, d, o)
}
