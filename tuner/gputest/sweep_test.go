package gputest

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/emulator"
)

func TestSweep(t *testing.T) {
	d := openEmulator(t, emulator.Options{})
	drawn, _ := strconv.Atoi(os.Getenv("DRAWN"))
	v := &prover{device: d, few: true, drawn: drawn}
	for _, o := range operators(t) {
		if f := os.Getenv("OPS"); f != "" && !strings.Contains(","+f+",", ","+o.Name+",") { continue }
		for _, row := range strings.Split(os.Getenv("ROWS"), ",") {
			i, _ := strconv.Atoi(row)
			rows := casesOf(o)
			if i >= len(rows) { continue }
			for _, math := range modes(o, rows[i]) {
			p, err := bind(o, rows[i], math, d.Info().Limits)
			if err != nil { t.Error(err); continue }
			if p.MemoryBytes() > 16<<20 { continue }
			var b *compile.Binary
			if o.Answers == nil {
				r, err := p.Reference()
				if err != nil { t.Error(err); continue }
				b, err = d.Compiler().Compile(t.Context(), compile.Request{Kernel: r, Arch: d.Arch()})
				if err != nil { t.Error(err); continue }
			}
			s, err := d.Open(t.Context(), p, b, protocol(o.Inputs[0]))
			if err != nil { t.Error(err); continue }
			choices, _ := v.choose(t.Context(), p)
			for _, c := range choices {
				k, err := p.Kernel(c)
				if err != nil { t.Error(err); continue }
				at := time.Now()
				out, looked, err := s.(device.RaceFinder).Races(t.Context(), device.Variant{Configuration: c, Kernel: k})
				t.Logf("%s %s: %s %s %s %v %.1fs", p, c, out.Status, out.Message, looked, err, time.Since(at).Seconds())
			}
			s.Close()
			}
		}
	}
}
