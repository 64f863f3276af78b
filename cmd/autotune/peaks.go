package main

import (
	"context"
	"path/filepath"

	"autotune/device"
	"autotune/tuner/bestconfig"
	"autotune/tuner/ceilings"
)

func peaksFile() (string, error) {
	dir, err := cacheDir()
	return filepath.Join(dir, "peaks.json"), err
}

func knownPeaks(d device.Info) device.Peaks {
	file, err := peaksFile()
	if err != nil {
		return nil
	}
	return ceilings.Known(file, d)
}

// addPeaks adds the device's peak rates to a winner's document, if they were measured on this machine before.
func addPeaks(best *bestconfig.Document) {
	if best.Roofline.Peaks == nil && best.Device.Kind.Properties().Measures {
		best.SetPeaks(knownPeaks(best.Device))
	}
}

// peaksOf returns the peak rates of a device. Peak rates that are needed and unknown are measured in a few seconds,
// once for each device and driver.
func peaksOf(ctx context.Context, d device.Device, v view, needed bool) device.Peaks {
	info := d.Info()
	if !info.Kind.Properties().Measures {
		return nil
	}
	if peaks := knownPeaks(info); peaks != nil || !needed || ctx.Err() != nil {
		return peaks
	}
	said := v.await("measuring the device's peaks, once")
	defer said.Done()
	peaks, err := ceilings.Measure(ctx, d)
	file := ""
	if err == nil {
		file, err = peaksFile()
	}
	if err == nil {
		err = ceilings.Keep(file, info, peaks)
	}
	if err != nil {
		tell("the page lacks the device's peaks: " + err.Error())
	}
	return peaks
}
