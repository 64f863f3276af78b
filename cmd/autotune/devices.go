package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/cuda"
	"autotune/tuner/device/emulator"
	"autotune/tuner/recording"
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
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "--device\twhat")
	listCUDA(c, w)
	listEmulator(w)
	if err := listRecordings(w); err != nil {
		return err
	}
	return w.Flush()
}

func listCUDA(c *cli.Context, w io.Writer) {
	gpus, err := cuda.List(c.Context)
	if err != nil {
		fmt.Fprintf(w, "cuda\t%s\n", missing(err))
	}
	for i, g := range gpus {
		fmt.Fprintf(w, "cuda:%d\t%s, sm_%d, %d multiprocessors, %.0f GiB, driver %s\n",
			i, g.Name, g.Limits.Arch, g.Limits.SMs, float64(g.Limits.MemoryBytes)/(1<<30), g.Driver)
	}
	nvrtc, err := compile.NVRTC(c.Context)
	if err != nil {
		fmt.Fprintf(w, "\t%s\n", missing(err))
		return
	}
	defer nvrtc.Close()
	fmt.Fprintf(w, "\tcompiler: %s, %d at once\n", nvrtc.Version(), nvrtc.Workers())
}

func listEmulator(w io.Writer) {
	e, err := emulator.Open(emulator.Options{})
	if err != nil {
		fmt.Fprintf(w, "emulator\t%s\n", missing(err))
		return
	}
	defer e.Close()
	info := e.Info()
	fmt.Fprintf(w, "emulator\t%s, compiler: %s\n", info.Name, info.Compiler)
}

func listRecordings(w io.Writer) error {
	all, err := recording.List(recording.Shipped())
	if err != nil {
		return err
	}
	for _, r := range all {
		m := r.Metadata
		fmt.Fprintf(w, "replay\t%s, recorded on %s, %s\n", m.Problem.Text, m.Device.Name, m.RecordedAt.Format("2006-01-02"))
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "replay\tno recordings are shipped in this binary; replay:FILE replays one")
	}
	return nil
}

// missing says why something is not there, without the general part.
func missing(err error) string {
	if errors.Is(err, device.ErrNone) || errors.Is(err, compile.ErrMissing) {
		return "none: " + explain(err)
	}
	return explain(err)
}
