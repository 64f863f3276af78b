package devices

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"autotune/device"
	"autotune/device/compile"
	"autotune/operator"
)

// gpus are the GPUs of one vendor, which are numbered from 0: as KIND:0, as KIND:0,1 for two, and as KIND:all.
type gpus struct {
	kind      device.Kind
	list      func(ctx context.Context) ([]device.Info, error)
	open      func(ctx context.Context, ordinal int, o Options) (device.Device, error)
	compiler  func(ctx context.Context) (compile.Compiler, error)
	target    func(compilerVersion string, arch int) string // what kernels are compiled for
	sanitizer func() (path string, err error)               // finds the program that watches launches; nil: there is none
	troubles  []error
}

func (g gpus) row() kind {
	return kind{
		check: g.check, limits: g.limits, list: g.listings, several: g.several, sanitizes: g.sanitizes, troubles: g.troubles,
		open: func(ctx context.Context, argument string, _ asked, o Options) (device.Device, string, error) {
			d, err := g.open(ctx, ordinal(argument), o)
			return d, "", err
		},
	}
}

func (g gpus) check(argument string) error {
	if argument == everyGPU {
		return nil
	}
	all := strings.Split(argument, ",")
	for i, one := range all {
		if n, err := strconv.Atoi(one); err != nil || n < 0 {
			return fmt.Errorf("--device %[1]s:%[2]s: want %[1]s:N with N the GPU's number; `autotune devices` lists them; of several GPUs %[1]s:0,1 or %[1]s:all", g.kind, argument)
		}
		if slices.Contains(all[:i], one) {
			return fmt.Errorf("--device %s:%s: the GPU %s is named twice", g.kind, argument, one)
		}
	}
	return nil
}

// ordinal is the number that a checked argument gives, the first of several; 0 without one.
func ordinal(argument string) int {
	first, _, _ := strings.Cut(argument, ",")
	n, _ := strconv.Atoi(first)
	return n
}

func (g gpus) several(ctx context.Context, argument string) ([]string, error) {
	if argument != everyGPU {
		return strings.Split(argument, ","), nil
	}
	found, err := g.list(ctx)
	var all []string
	for i := range found {
		all = append(all, strconv.Itoa(i))
	}
	return all, err
}

func (g gpus) limits(ctx context.Context, argument string, _ asked) (operator.Limits, string, error) {
	found, err := g.list(ctx)
	if err != nil {
		return operator.Limits{}, "", err
	}
	n := ordinal(argument)
	if n >= len(found) {
		return operator.Limits{}, "", fmt.Errorf("there is no %s:%d; `autotune devices` lists the GPUs: %w", g.kind, n, device.ErrNone)
	}
	// The compiler, if there is one, has a say in what kernels are compiled for.
	limits, version := found[n].Limits, ""
	if c, err := g.compiler(ctx); err == nil {
		defer c.Close()
		version = c.Version()
	}
	limits.Target = g.target(version, limits.Arch)
	return limits, found[n].Name, nil
}

func (g gpus) listings(ctx context.Context) []Listing {
	var all []Listing
	found, err := g.list(ctx)
	if err != nil {
		all = append(all, Listing{Device: string(g.kind), Err: err})
	}
	for i, one := range found {
		all = append(all, Listing{Device: fmt.Sprintf("%s:%d", g.kind, i), About: fmt.Sprintf("%s, sm_%d, %d multiprocessors, %.0f GiB, driver %s",
			one.Name, one.Limits.Arch, one.Limits.SMs, float64(one.Limits.MemoryBytes)/(1<<30), one.Driver)})
	}
	c, err := g.compiler(ctx)
	if err != nil {
		return append(all, Listing{Err: err})
	}
	defer c.Close()
	return append(all, Listing{About: fmt.Sprintf("compiler: %s, %d at once", c.Version(), c.Workers())})
}

func (g gpus) sanitizes(ctx context.Context) bool {
	if g.sanitizer == nil {
		return false
	}
	if _, err := g.sanitizer(); err != nil {
		return false
	}
	_, err := g.list(ctx)
	return err == nil
}
