package main

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"autotune/reports"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/devices"
)

func devicesCommand() *cli.Command {
	return &cli.Command{
		Name:        "devices",
		Usage:       "list the GPUs, compilers, emulator and recordings of this machine",
		Description: "Works on any machine; what is missing is said, with what to install.",
		Flags:       []cli.Flag{jsonFlag()},
		Action:      devicesAction,
	}
}

// listing is what `devices --json` writes of a device that is here, or of what
// is missing.
type listing struct {
	Device string `json:"device,omitempty"` // as --device takes it; absent: about the one before
	About  string `json:"about,omitempty"`
	// Problems are those of recordings.
	Problems []string `json:"problems,omitempty"`
	Missing  string   `json:"missing,omitempty"`
}

func devicesAction(c *cli.Context) error {
	list, all := devices.List(c.Context), []listing{}
	for i, l := range list {
		one := listing{Device: l.Device, About: l.About, Problems: l.Problems}
		if l.Err != nil {
			one.Missing = missing(l.Err)
			list[i].About = one.Missing
		}
		all = append(all, one)
	}
	return writeDocument(c, all, func(out io.Writer) error { return reports.DevicesTable(out, list) })
}

// missing says why something is not there, without the general part.
func missing(err error) string {
	if errors.Is(err, device.ErrNone) || errors.Is(err, compile.ErrMissing) {
		return "none: " + explain(err)
	}
	return explain(err)
}
