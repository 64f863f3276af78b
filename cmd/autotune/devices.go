package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

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
		Flags:       []cli.Flag{jsonFlag()},
		Action:      devicesAction,
	}
}

// listing is what `devices --json` writes of a device that is here, or of what
// is missing.
type listing struct {
	Device  string `json:"device,omitempty"` // as --device takes it; absent: about the one before
	About   string `json:"about,omitempty"`
	Missing string `json:"missing,omitempty"`
}

func devicesAction(c *cli.Context) error {
	all := []listing{}
	for _, l := range devices.List(c.Context) {
		one := listing{Device: l.Device, About: l.About}
		if l.Err != nil {
			one.Missing = missing(l.Err)
		}
		all = append(all, one)
	}
	return writeDocument(c, all, func(out io.Writer) error {
		w := columns(out)
		fmt.Fprintln(w, "--device\twhat")
		for _, l := range all {
			fmt.Fprintf(w, "%s\t%s\n", l.Device, cmp.Or(l.Missing, l.About))
		}
		return w.Flush()
	})
}

// missing says why something is not there, without the general part.
func missing(err error) string {
	if errors.Is(err, device.ErrNone) || errors.Is(err, compile.ErrMissing) {
		return "none: " + explain(err)
	}
	return explain(err)
}
