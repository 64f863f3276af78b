package devices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/remote"
	"autotune/device/remote/fleet"
)

// everyGPU is the argument of --device for all GPUs; `times` is the character before a number of repetitions, as in *4.
const (
	everyGPU = "all"
	times    = "*"
)

// connectionLimit is how long a search tries to restore a lost connection.
const connectionLimit = 30 * time.Second

// mostTimes is the largest number of workers in one process, as requested by *N.
const mostTimes = 64

// readTimes parses KIND*N, which stands for N workers of one device, for machines and tests without many devices.
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

// Arguments returns the --device argument of each single device that the Spec names.
func (s Spec) Arguments(ctx context.Context) ([]string, error) {
	if n, ok := strings.CutPrefix(s.Argument, times); ok {
		many, err := strconv.Atoi(n)
		return make([]string, many), err
	}
	if s.Kind == device.CUDA {
		return severalGPUs(ctx, s.Argument)
	}
	return []string{s.Argument}, nil
}

// CheckRuns returns an error if the device cannot run kernels, as a recording cannot.
func (s Spec) CheckRuns() error {
	if p := s.Kind.Properties(); s.Kind != "" && !p.Compiles {
		return fmt.Errorf("--device %s: %s runs nothing for others; name a GPU, or the emulator", s.Kind, p.Label)
	}
	return nil
}

// OpenAll opens the devices that a spec names, without binding a problem. Workers get names such as cuda-0; the name
// auto stands for the first GPU.
func OpenAll(ctx context.Context, s Spec, o Options) ([]remote.Member, error) {
	s.Kind = cmp.Or(s.Kind, device.CUDA)
	if err := s.CheckRuns(); err != nil {
		return nil, err
	}
	arguments, err := s.Arguments(ctx)
	if err != nil {
		return nil, err
	}
	all, errs := make([]remote.Member, len(arguments)), make([]error, len(arguments))
	var group sync.WaitGroup
	for i, argument := range arguments {
		all[i].Name = fmt.Sprintf("%s-%s", s.Kind, cmp.Or(argument, strconv.Itoa(i)))
		group.Go(func() { all[i].Device, _, errs[i] = kindsByName[s.Kind].open(ctx, argument, asked{}, o) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, CloseAll(all))
	}
	return all, nil
}

func CloseAll(all []remote.Member) error {
	var errs []error
	for _, m := range all {
		if m.Device != nil {
			errs = append(errs, m.Device.Close())
		}
	}
	return errors.Join(errs...)
}

type local struct {
	*remote.Pool
	members []remote.Member
}

func openSeveral(ctx context.Context, s Spec, o Options) (device.Device, error) {
	all, err := OpenAll(ctx, s, o)
	if err != nil {
		return nil, err
	}
	l := &local{remote.NewPool(all[0].Device, remote.PoolOptions{Say: o.Say}), all}
	for _, m := range all {
		l.Join(m)
	}
	return l, nil
}

func (l *local) Close() error { return CloseAll(l.members) }

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

// severalNotice returns a notice for the user that several emulated devices' times say nothing about a GPU, or "" for
// GPUs.
func severalNotice(s Spec, n int) string {
	if s.Kind.Properties().Caveat == "" {
		return ""
	}
	return fmt.Sprintf("kernels run on the CPU emulator, in %d workers; times say nothing about a GPU", n)
}
