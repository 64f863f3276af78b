package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/tuner/devices"
	"autotune/tuner/final"
)

// rerun is a winner that was found earlier, on a device that can time it once more.
type rerun struct {
	final.Subject
	close func() error
}

// rerun opens the winner's problem on a device: the one that --device names, or else one of the
// kind that the winner was found on.
func (w chosen) rerun(c *cli.Context) (a rerun, err error) {
	k, err := w.kernelOf(c)
	if err != nil {
		return a, err
	}
	if _, err := devices.Parse(c.String("device")); err != nil || c.String("device") == "auto" {
		if err := c.Set("device", string(w.best.Device.Kind)); err != nil {
			return a, err
		}
	}
	opener, err := deviceOpener(c, devices.Options{Runs: true})
	if err != nil {
		return a, err
	}
	opened, err := opener.Open(c.Context, k.Problem.Operator, w.best.Problem.Request())
	if err != nil {
		return a, err
	}
	a.close = opener.Close
	if opened.Notice != "" {
		say(os.Stderr, "autotune: "+opened.Notice)
	}
	if !opened.Problem.Admits(w.best.Configuration) {
		err = fmt.Errorf("%s does not fit %s; search there, or name another --device", w.best.Configuration, opened.Device.Info().Name)
		return a, errors.Join(err, opener.Close())
	}
	protocol := device.ProtocolFor(opened.Problem.Operator)
	if opened.Device.Info().Kind.Properties().Measures {
		protocol.Conditions = w.best.Conditions
	}
	a.Subject = final.Subject{Problem: opened.Problem, Device: opened.Device, Protocol: protocol, Launches: final.Launches}
	return a, nil
}
