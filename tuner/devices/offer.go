package devices

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/emulator"
	"autotune/device/remote"
	"autotune/device/remote/fleet"
)

// Offer makes devices available to every search that uses the same NATS server.
type Offer struct {
	Login    fleet.Login
	Name     string // of the worker, or what the names of several begin with; "": a name that nobody else has
	Worker   fleet.WorkerOptions
	CacheDir string // folder for compiled binaries
	Say      func(text string)
}

func (o Offer) Serve(ctx context.Context, spec Spec) (err error) {
	all, err := OpenAll(ctx, spec, Options{CacheDir: o.CacheDir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, CloseAll(all)) }()
	group, ctx := errgroup.WithContext(ctx)
	for _, m := range all {
		w := o.Worker
		w.Name = o.nameOf(m.Name, len(all) > 1)
		w.Compilers = cmp.Or(w.Compilers, max(1, m.Device.Compiler().Workers()/len(all)))
		group.Go(func() error { return o.serve(ctx, m.Device, w) })
	}
	return group.Wait()
}

func (o Offer) nameOf(device string, several bool) string {
	switch {
	case o.Name != "" && several:
		return remote.Name(o.Name + "-" + device)
	case o.Name != "":
		return o.Name
	}
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	return remote.Name(host[:min(len(host), 32)] + "-" + device + "-" + strings.ToLower(rand.Text()[:4]))
}

func (o Offer) serve(ctx context.Context, d device.Device, w fleet.WorkerOptions) error {
	w.Say = func(text string) { o.Say("worker " + w.Name + ": " + text) }
	b, err := fleet.Connect(o.Login, w.Name, fleet.ConnectOptions{Say: w.Say})
	if err != nil {
		return err
	}
	defer b.Close()
	o.Say(fmt.Sprintf("worker %s offers %s", w.Name, d.Info().Name))
	if walls := emulator.Walls(ctx, d); walls != "" {
		w.Say(walls)
	}
	return fleet.Serve(ctx, b, d, w)
}
