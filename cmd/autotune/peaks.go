package main

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/tuner/bestconfig"
	"autotune/tuner/ceilings"
)

// peaksFile is where the peaks of this machine's devices are kept.
func peaksFile() (string, error) {
	dir, err := cacheDir()
	return filepath.Join(dir, "peaks.json"), err
}

// peaksOf are the peaks of a device. They are measured where a page is asked for and nobody has
// measured them: once for a device and driver, in a few seconds.
func peaksOf(ctx context.Context, c *cli.Context, d device.Device) device.Peaks {
	file, err := peaksFile()
	if err != nil || !d.Info().Kind.Properties().Measures {
		return nil
	}
	known := ceilings.Known(file, d.Info())
	if known != nil || c.String("plot") == "" || ctx.Err() != nil {
		return known
	}
	said := await(c, "measuring the device's peaks, once")
	defer said.done()
	peaks, err := ceilings.Measure(ctx, d)
	if err == nil {
		err = ceilings.Keep(file, d.Info(), peaks)
	}
	if err != nil {
		tell([]string{"the page lacks the device's peaks: " + err.Error()})
	}
	return peaks
}

// withPeaks adds to a winner's document what this machine knows of its device.
func withPeaks(best *bestconfig.Document) {
	if best.Roofline.Peaks != nil || !best.Device.Kind.Properties().Measures {
		return
	}
	if file, err := peaksFile(); err == nil {
		best.SetPeaks(ceilings.Known(file, best.Device))
	}
}
