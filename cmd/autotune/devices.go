package main

import (
	"errors"

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
		Action:      devicesAction,
	}
}

func devicesAction(c *cli.Context) error {
	list := devices.List(c.Context)
	for i, l := range list {
		if l.Err != nil {
			list[i].About = missing(l.Err)
		}
	}
	return reports.DevicesTable(c.App.Writer, list)
}

// missing says why something is not there, without the general part.
func missing(err error) string {
	if errors.Is(err, device.ErrNone) || errors.Is(err, compile.ErrMissing) {
		return "none: " + explain(err)
	}
	return explain(err)
}
