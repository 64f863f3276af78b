package ceilings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"autotune/device"
	"autotune/internal/output"
)

// key returns the key under which a device's peaks are stored; it contains the driver, on which peaks depend.
func key(d device.Info) string { return d.Name + ", driver " + d.Driver }

// Known returns a device's peaks from a file, or nil if the file does not exist or cannot be read.
func Known(file string, d device.Info) device.Peaks {
	all, err := read(file)
	if err != nil {
		return nil
	}
	return all[key(d)]
}

// Keep adds a device's peaks to a file.
func Keep(file string, d device.Info, peaks device.Peaks) error {
	all, err := read(file)
	if err != nil || all == nil {
		all = map[string]device.Peaks{} // an unreadable file is replaced
	}
	all[key(d)] = peaks
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return fmt.Errorf("keep the device's peaks: %w", err)
	}
	return output.To(file, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
}

func read(file string) (all map[string]device.Peaks, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	for _, peaks := range all {
		for _, rate := range peaks {
			if !(rate > 0) {
				err = errors.Join(err, fmt.Errorf("%s: a peak of %v", file, rate))
			}
		}
	}
	return all, err
}
