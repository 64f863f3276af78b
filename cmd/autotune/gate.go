package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner/devices"
	"autotune/tuner/final"
	"autotune/tuner/winners"
)

// ciFlags are those of a gate for CI: whether there is one, and the reports that it writes.
// of says what is gated.
func ciFlags(of string) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "ci", Usage: of + "fail what is wrong, or slower than recorded beyond this machine's noise, which is measured first"},
		&cli.StringFlag{Name: "junit", Usage: of + "write what was found to `FILE` as a JUnit report, for CI"},
		&cli.StringFlag{Name: "markdown", Usage: of + "write what was found to `FILE` as a summary in Markdown, for CI"},
	}
}

// distinctReports refuses two of --json, --junit and --markdown that name one file.
func distinctReports(c *cli.Context) error {
	return cmp.Or(distinctOutputs(c, "json", "junit"), distinctOutputs(c, "json", "markdown"), distinctOutputs(c, "junit", "markdown"))
}

// writeProofs writes the reports for CI that the flags ask for.
func writeProofs(c *cli.Context, title string, proofs []reports.Proof) error {
	for _, report := range []struct {
		flag  string
		write func(io.Writer, string, []reports.Proof) error
	}{{"junit", reports.WriteJUnit}, {"markdown", reports.WriteProofs}} {
		if file := c.String(report.flag); file != "" {
			write := func(w io.Writer) error { return report.write(w, title, proofs) }
			if err := output.To(file, write); err != nil {
				return badInput(err)
			}
		}
	}
	return nil
}

// proof is the winner as reports for CI have it.
func (r rechecked) proof(class string) reports.Proof {
	return reports.Proof{Name: r.Problem, Class: class, Verdict: r.Verdict, Message: r.Message, WasMS: r.WasMS, NowMS: r.NowMS, Noise: r.Noise}
}

// slower is the verdict on a winner that takes longer than recorded, beyond the noise.
const slower = "slower"

// edited says why a winner is lost whose kernel was edited since.
const edited = "its kernel was edited, or is no longer in the space"

// prove verifies a winner, times it against itself and puts it through the gates. It compares
// with the time that is recorded; where that is 0, or the device takes none, only whether it is right counts.
func (r *rechecked) prove(c *cli.Context, opened *devices.Opened, w winners.Kept) error {
	p := opened.Problem
	kernel, err := p.Kernel(w.Winner.Configuration)
	if err != nil || !p.Admits(w.Winner.Configuration) || kernel.Digest() != w.Winner.KernelDigest {
		r.Verdict, r.Message = "lost", edited
		return nil
	}
	if !c.Bool("quiet") {
		say(os.Stderr, "autotune: proving "+p.String())
	}
	protocol := device.ProtocolFor(p.Operator)
	protocol.Conditions = w.Protocol.Conditions
	subject := final.Subject{Problem: p, Device: opened.Device, Protocol: protocol, Launches: final.Launches}
	proof, err := final.Prove(c.Context, subject, w.Winner.Configuration, w.Winner.FinalRounds)
	if err != nil {
		return deviceTrouble(err)
	}
	r.compare(proof, w, opened.Device.Info())
	return nil
}

// compare is the verdict on what a proof found.
func (r *rechecked) compare(p final.Proof, w winners.Kept, here device.Info) {
	r.NowMS, r.Noise = p.NowMS, p.Noise
	switch {
	case p.Status != trial.OK:
		r.Verdict, r.Message, r.NowMS, r.Noise = string(p.Status), p.Reason(), 0, 0
	case r.WasMS > 0 && r.NowMS > r.WasMS*(1+r.Noise):
		r.Verdict = slower
		r.Message = strings.Join(append([]string{fmt.Sprintf("%.2g %% slower, the noise here is %.2g %%", 100*(r.NowMS/r.WasMS-1), 100*r.Noise)}, moved(p, w, here)...), "; ")
	default:
		r.Verdict, r.Message = "holds", ""
	}
}

// copyMoved is the relative change of the copy bandwidth that is not worth a word.
const copyMoved = 0.01

// moved says what else is not as it was when the winner was found.
func moved(p final.Proof, w winners.Kept, here device.Info) (all []string) {
	if then, now := w.Ceilings.CopyBytesPerMS, p.Ceilings.CopyBytesPerMS; then > 0 && now > 0 && math.Abs(now/then-1) > copyMoved {
		all = append(all, fmt.Sprintf("a copy now has %.3g %% of the bandwidth that it had", 100*now/then))
	}
	for _, version := range []struct{ what, then, now string }{{"driver", w.Device.Driver, here.Driver}, {"compiler", w.Device.Compiler, here.Compiler}} {
		if version.then != version.now && version.then != "" && version.now != "" {
			all = append(all, fmt.Sprintf("the %s was %s and is %s", version.what, version.then, version.now))
		}
	}
	all = append(all, lists.Of(p.Warnings, trial.Warning.String)...)
	return all
}

// errNothingProven ends a gate that had nothing to look at: silence would pass for success.
var errNothingProven = errors.New("nothing was proven: the cache has no winner of this device; `autotune cache ls` lists what there is")
