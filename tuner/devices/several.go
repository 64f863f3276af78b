package devices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/remote"
	"autotune/device/remote/fleet"
)

// everyGPU is the argument that names all GPUs, and times begins one that repeats a device.
const (
	everyGPU = "all"
	times    = "*"
)

// connectionLimit is how long a search tries to make a lost connection anew.
const connectionLimit = 30 * time.Second

// mostTimes bounds the workers of one process.
const mostTimes = 64

// readTimes reads KIND*N, for machines and tests without many devices.
func readTimes(s string) (spec Spec, ok bool, err error) {
	name, text, found := strings.Cut(s, times)
	if p := device.Kind(name).Properties(); found && p.Compiles {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostTimes {
			err = fmt.Errorf("--device %s: want %s%sN with N from 1 to %d", s, p.Kind, times, mostTimes)
			return Spec{}, true, err
		}
		return Spec{p.Kind, times + text}, true, nil
	}
	return Spec{}, false, nil
}

// Arguments are those of the devices that a spec names: of several, or of one.
func (s Spec) Arguments(ctx context.Context) ([]string, error) {
	if n, ok := strings.CutPrefix(s.Argument, times); ok {
		many, err := strconv.Atoi(n)
		return make([]string, many), err
	}
	if several := kindsByName[s.Kind].several; several != nil {
		return several(ctx, s.Argument)
	}
	return []string{s.Argument}, nil
}

func measuring() device.Kind {
	all := device.Kinds()
	return all[slices.IndexFunc(all, func(p device.Properties) bool { return p.Measures })].Kind
}

// CheckRuns refuses what runs no kernels.
func (s Spec) CheckRuns() error {
	if p := s.Kind.Properties(); s.Kind != "" && !p.Compiles {
		return fmt.Errorf("--device %s: %s runs nothing for others; name a GPU, or the emulator", s.Kind, p.Label)
	}
	return nil
}

// OpenAll opens the devices that a spec names, as they are: no problem is bound to them. auto is the first GPU.
func OpenAll(ctx context.Context, s Spec, o Options) ([]device.Device, error) {
	s.Kind = cmp.Or(s.Kind, measuring())
	if err := s.CheckRuns(); err != nil {
		return nil, err
	}
	arguments, err := s.Arguments(ctx)
	if err != nil {
		return nil, err
	}
	all, errs := make([]device.Device, len(arguments)), make([]error, len(arguments))
	var group sync.WaitGroup
	for i, argument := range arguments {
		group.Go(func() { all[i], _, errs[i] = kindsByName[s.Kind].open(ctx, argument, asked{}, o) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, CloseAll(all))
	}
	return all, nil
}

func CloseAll(all []device.Device) error {
	var errs []error
	for _, d := range all {
		if d != nil {
			errs = append(errs, d.Close())
		}
	}
	return errors.Join(errs...)
}

// WorkerName is what the worker of a device is called, as cuda-0.
func WorkerName(s Spec, argument string, at int) string {
	argument = cmp.Or(argument, strconv.Itoa(at))
	return string(cmp.Or(s.Kind, measuring())) + "-" + argument
}

type local struct {
	*remote.Pool
	devices []device.Device
}

func openSeveral(ctx context.Context, s Spec, o Options) (device.Device, error) {
	arguments, err := s.Arguments(ctx)
	if err != nil {
		return nil, err
	}
	all, err := OpenAll(ctx, s, o)
	if err != nil {
		return nil, err
	}
	l := &local{remote.NewPool(remote.Member{Device: all[0]}, remote.PoolOptions{Say: o.Say}), all}
	for i, d := range all {
		l.Join(remote.Member{Name: WorkerName(s, arguments[i], i), Device: d})
	}
	return l, nil
}

func (l *local) Close() error { return CloseAll(l.devices) }

func openWorkers(ctx context.Context, o Options) (device.Device, string, error) {
	b, err := fleet.Connect(o.Server, "search", fleet.ConnectOptions{Limit: connectionLimit, Say: o.Say})
	if err != nil {
		return nil, "", err
	}
	p, err := fleet.Open(ctx, b, fleet.Options{GPU: o.GPU, PoolOptions: remote.PoolOptions{Say: o.Say}})
	if err != nil {
		b.Close()
		return nil, "", err
	}
	notice := p.Summary()
	if caveat := p.Info().Kind.Properties().Caveat; caveat != "" {
		notice += "; kernels are " + caveat + ", and times say nothing about a GPU"
	}
	return p, notice, nil
}

// severalNotice is the remark about several devices whose times say nothing about a GPU.
func severalNotice(s Spec, n int) string {
	if s.Kind.Properties().Caveat == "" {
		return ""
	}
	return fmt.Sprintf("kernels run on the CPU emulator, in %d workers; times say nothing about a GPU", n)
}
