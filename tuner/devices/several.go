package devices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/device/cuda"
	"autotune/tuner/device/pool"
	"autotune/tuner/device/pool/broker"
	"autotune/tuner/device/pool/poolworker"
)

// everyGPU is the argument that names all of them, and times begins one that names a
// device so many times over.
const (
	everyGPU = "all"
	times    = "*"
)

// openLimit is how long devices of this machine may take until their control is timed.
const openLimit = 10 * time.Minute

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
	if s.Kind != device.CUDA {
		return []string{s.Argument}, nil
	}
	if s.Argument != everyGPU {
		return strings.Split(s.Argument, ","), nil
	}
	gpus, err := cuda.List(ctx)
	var all []string
	for i := range gpus {
		all = append(all, strconv.Itoa(i))
	}
	return all, err
}

// CheckRuns refuses what runs no kernels.
func (s Spec) CheckRuns() error {
	if p := s.Kind.Properties(); s.Kind != "" && !p.Compiles {
		return fmt.Errorf("--device %s: %s runs nothing for others; name a GPU, or the emulator", s.Kind, p.Label)
	}
	return nil
}

// OpenAll opens the devices that a spec names, as they are: no problem is bound to
// them. auto is the first GPU.
func OpenAll(ctx context.Context, s Spec, o Options) ([]device.Device, error) {
	if s.Kind == "" {
		s.Kind = device.CUDA
	}
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

// CloseAll closes those that are open.
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
	if argument == "" {
		argument = strconv.Itoa(at)
	}
	kind := s.Kind
	if kind == "" {
		kind = device.CUDA
	}
	return string(kind) + "-" + argument
}

// local is a pool of this machine's devices, whose workers and server are in this
// process.
type local struct {
	*pool.Pool
	server  *broker.Embedded
	devices []device.Device
	stop    context.CancelFunc
	working sync.WaitGroup
	spool   poolworker.Spool
}

// openSeveral opens devices of this machine as one. What is said between them and the
// search is what goes to workers elsewhere.
func openSeveral(ctx context.Context, s Spec, o Options) (_ device.Device, err error) {
	arguments, err := s.Arguments(ctx)
	if err != nil {
		return nil, err
	}
	l := &local{}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.devices, err = OpenAll(ctx, s, o); err != nil {
		return nil, err
	}
	if l.server, err = broker.Embed(); err != nil {
		return nil, err
	}
	opening, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for i, d := range l.devices {
		name := WorkerName(s, arguments[i], i)
		b, err := l.server.Connect(ctx, name, broker.Options{})
		if err != nil {
			return nil, err
		}
		w := poolworker.Options{Name: name, Compilers: max(1, runtime.NumCPU()/len(l.devices)), Python: true, Spool: &l.spool}
		l.working.Go(func() {
			defer b.Close()
			if err := poolworker.Serve(working, b, d, w); err != nil {
				fail(fmt.Errorf("worker %s: %w", name, err)) // an open pool hears of it from the worker
			}
		})
	}
	b, err := l.server.Connect(ctx, "search", broker.Options{})
	if err != nil {
		return nil, err
	}
	if l.Pool, err = pool.Open(opening, b, pool.Options{Say: o.Say, All: len(l.devices), Wait: openLimit}); err != nil {
		b.Close()
		return nil, cmp.Or(context.Cause(opening), err)
	}
	return l, nil
}

// Close ends the workers and closes their devices.
func (l *local) Close() error {
	var errs []error
	if l.Pool != nil {
		errs = append(errs, l.Pool.Close())
	}
	l.stop()
	l.working.Wait()
	errs = append(errs, CloseAll(l.devices), l.spool.Close())
	if l.server != nil {
		errs = append(errs, l.server.Close())
	}
	return errors.Join(errs...)
}

// openRemote opens the workers at a NATS server as one device.
func openRemote(ctx context.Context, o Options) (device.Device, string, error) {
	b, err := broker.Connect(ctx, o.Server, "search", broker.Options{})
	if err != nil {
		return nil, "", err
	}
	p, err := pool.Open(ctx, b, pool.Options{GPU: o.GPU, Say: o.Say})
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

// severalNotice is what to say of devices of a kind whose times say nothing.
func severalNotice(s Spec, n int) string {
	if s.Kind.Properties().Caveat == "" {
		return ""
	}
	return fmt.Sprintf("kernels run on the CPU emulator, in %d workers; times say nothing about a GPU", n)
}
