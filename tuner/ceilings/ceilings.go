// Package ceilings measures a device's peak rates: of reads from the L2 cache, of fp32 and of the tensor cores. The
// kernels that measure peaks belong to an ordinary operator in the folder peak, and are verified and timed like all
// others.
package ceilings

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"autotune/device"
	"autotune/operator"
	"autotune/tuner/final"
)

//go:embed peak
var files embed.FS

// kinds lists the kinds of work, named as in the operator peak, with the number of blocks for each multiprocessor
// and the number of steps of each block. With the numbers of blocks and steps in this table, a kernel runs for
// about half a millisecond on a large GPU.
var kinds = []struct {
	of            string
	blocks, steps int64
}{{device.PeakL2, 8, 512}, {device.PeakFP32, 8, 8192}, {device.PeakTF32, 2, 4096}, {device.PeakFP16, 2, 8192}}

// Measure measures the device's peak rates.
func Measure(ctx context.Context, d device.Device) (device.Peaks, error) {
	op, err := load()
	if err != nil {
		return nil, err
	}
	peaks := device.Peaks{}
	limits := d.Info().Limits
	for _, k := range kinds {
		p, err := op.Bind(operator.Request{Shape: []int64{int64(limits.SMs) * k.blocks, k.steps}, Parameters: map[string]string{"of": k.of}}, limits)
		if err != nil {
			return nil, err
		}
		if peaks[k.of], err = measure(ctx, d, p); err != nil {
			return nil, fmt.Errorf("the device's peak of %s: %w", k.of, err)
		}
		if peaks[k.of] == 0 {
			delete(peaks, k.of)
		}
	}
	return peaks, nil
}

func load() (*operator.Operator, error) {
	folder, err := fs.Sub(files, "peak")
	if err != nil {
		return nil, err
	}
	return operator.Load(folder, ".")
}

// measure returns the best rate of one kind of work, in bytes or operations a millisecond, or 0 if no kernel for that
// work is valid on the device.
func measure(ctx context.Context, d device.Device, p *operator.Problem) (rate float64, err error) {
	defaults := p.Defaults(ctx)
	if len(defaults) == 0 {
		return 0, nil
	}
	s := final.Subject{Problem: p, Device: d, Protocol: device.ProtocolFor(p.Operator), Launches: final.Launches}
	found, err := final.Around(ctx, s, defaults[0], nil, time.Second, func(int, int) {})
	if err != nil {
		return 0, err
	}
	least := slices.Min(found.Centre.SamplesMS)
	if least <= 0 {
		return 0, errors.New("it takes no time")
	}
	return float64(max(p.Flops, p.Bytes)) / least, nil
}
