package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

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
	w := columns(c.App.Writer)
	fmt.Fprintln(w, "--device\twhat")
	for _, l := range devices.List(c.Context) {
		if l.Err != nil {
			l.About = missing(l.Err)
		}
		fmt.Fprintf(w, "%s\t%s\n", l.Device, l.About)
	}
	return w.Flush()
}

// missing says why something is not there, without the general part.
func missing(err error) string {
	if errors.Is(err, device.ErrNone) || errors.Is(err, compile.ErrMissing) {
		return "none: " + explain(err)
	}
	return explain(err)
}
