package reports

import (
	"bytes"
	"flag"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/torchtimes"
)

var keep = flag.String("keep", "", "a folder to keep the plots in, to look at them")

// scenes returns functions that draw plots of data that once caused problems, such as overlapping texts.
func scenes() map[string]func(io.Writer) error {
	speedup := func(change func(*bestconfig.Document)) func(io.Writer) error {
		b := convolution()
		change(&b)
		return func(w io.Writer) error { return SpeedupPlot(w, b) }
	}
	progress := func(b bestconfig.Document, list []trial.Trial) func(io.Writer) error {
		return func(w io.Writer) error { return ProgressPlot(w, b, list) }
	}
	resumed := convolution()
	resumed.Search.Resumed = 150
	huge := func(b *bestconfig.Document) {
		b.Compare(bestconfig.Reference, 6270)
		b.Compare(bestconfig.Default, 300)
	}
	return map[string]func(io.Writer) error{
		"speedup":          speedup(func(*bestconfig.Document) {}),
		"speedup_replayed": func(w io.Writer) error { return SpeedupPlot(w, replayed()) },
		"speedup_emulated": func(w io.Writer) error { return SpeedupPlot(w, emulated()) },
		"speedup_log":      speedup(huge),
		"speedup_near":     speedup(func(b *bestconfig.Document) { delete(b.Baselines, bestconfig.Reference) }),
		"speedup_alone":    speedup(func(b *bestconfig.Document) { b.Baselines = nil; b.Roofline = bestconfig.Roofline{} }),
		"speedup_slower":   speedup(func(b *bestconfig.Document) { b.Compare(torchtimes.Eager, 4.4) }),
		"speedup_long": speedup(func(b *bestconfig.Document) {
			b.Operator = strings.Repeat("very_long_operator_", 5)
			b.Template = strings.Repeat("implicit_gemm_", 8)
			b.Problem.Text += strings.Repeat(" another_parameter=12345", 12)
		}),
		"progress":            progress(convolution(), trials(412, 4, 6.27)),
		"progress_resumed":    progress(resumed, trials(412, 4, 6.27)),
		"progress_one":        progress(emulated(), trials(1, 0, 0.00512)),
		"progress_few":        progress(emulated(), trials(12, 0, 0.00512)),
		"progress_2000":       progress(replayed(), trials(2000, 12, 6.27)),
		"progress_all_failed": progress(failed(), trials(40, 100, 1)),
		"progress_none":       progress(failed(), nil),
		"progress_slow": progress(func() bestconfig.Document { b := convolution(); b.Compare(bestconfig.Default, 600); return b }(),
			append([]trial.Trial{{Outcome: trial.Outcome{Status: trial.OK, Time: trial.Timing{Median: 600}}}}, trials(300, 10, 6.27)...)),
		"speedup_above": speedup(func(b *bestconfig.Document) {
			b.SetRoofline(20_000_000_000, 0, 3.03e9)
			delete(b.Baselines, bestconfig.Reference)
		}),
		"speedup_range": speedup(func(b *bestconfig.Document) {
			b.Compare(bestconfig.Reference, 1e9)
			b.Compare(bestconfig.Default, 1e-6)
		}),
		"progress_range": progress(convolution(), append([]trial.Trial{{Outcome: trial.Outcome{Status: trial.OK, Time: trial.Timing{Median: 1e9}}}, {Outcome: trial.Outcome{Status: trial.OK, Time: trial.Timing{Median: 1e-6}}}}, trials(9, 0, 1)...)),
		"summary":        func(w io.Writer) error { return SummaryPlot(w, summary()) },
		"summary_emulated": func(w io.Writer) error {
			return SummaryPlot(w, []bestconfig.Document{emulated()})
		},
		"summary_mixed": func(w io.Writer) error { return SummaryPlot(w, append(summary(), emulated())) },
	}
}

// summary is a run of five problems, some with large speedups.
func summary() []bestconfig.Document {
	var list []bestconfig.Document
	for _, c := range []struct {
		operator, text                string
		shape                         []int64
		ms, eager, compile, floor, df float64
	}{
		{"avg_pool2d", "avg_pool2d s kernel=11x11 stride=11x11 padding=0x0 ceil_mode=false count_include_pad=true math=fp32", []int64{16, 64, 2048, 2048}, 5.69, 6.54, 10.65, 5.72, 7},
		{"avg_pool1d", "avg_pool1d s kernel=8 stride=1 padding=4 math=fp32", []int64{64, 128, 65536}, 1.44, 5.45, 1.92, 1.42, 2},
		{"max_pool2d", "max_pool2d s kernel=4x4 stride=1x1 padding=1x1 dilation=1x1 math=fp32", []int64{32, 64, 512, 512}, 1.45, 10.82, 11.91, 1.42, 2},
		{"conv2d", "conv2d s c_out=128 kernel=3x3 math=tf32", []int64{16, 16, 1024, 1024}, 6.27, 7.10, 7.12, 3.18, 20},
		{"depthwise_conv2d", "depthwise_conv2d s kernel=3x3 math=fp32", []int64{16, 64, 512, 512}, 0.71, 2.52, 2.53, 0.71, 1},
	} {
		b := convolution()
		b.Operator, b.Problem.Shape, b.Problem.Text, b.Time.Median = c.operator, c.shape, c.text, c.ms
		b.Baselines = nil
		b.Compare(torchtimes.Eager, c.eager)
		b.Compare(torchtimes.Compile, c.compile)
		b.SetRoofline(int64(c.floor*3.03e9), 0, 3.03e9)
		list = append(list, b)
	}
	return list
}

func TestPlots(t *testing.T) {
	if testing.Short() {
		t.Skip("draws large pictures")
	}
	for name, draw := range scenes() {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			must.OK(t, draw(&file))
			if *keep != "" {
				must.OK(t, os.WriteFile(filepath.Join(*keep, name+".png"), file.Bytes(), 0o644))
			}
			config, err := png.DecodeConfig(&file)
			must.OK(t, err)
			if config.Width < 1600 || config.Height < 400 || config.Height > 4000 {
				t.Errorf("the plot is %dx%d", config.Width, config.Height)
			}
		})
	}
}

func TestPlotsWithoutWinner(t *testing.T) {
	if err := SpeedupPlot(io.Discard, failed()); err == nil {
		t.Error("SpeedupPlot drew a search without a winner")
	}
	if err := SummaryPlot(io.Discard, []bestconfig.Document{failed()}); err == nil {
		t.Error("SummaryPlot drew a list without a winner")
	}
}

// A number that no measurement can produce must cause an error and not a panic.
func TestPlotsOfAbsurdNumbers(t *testing.T) {
	if testing.Short() {
		t.Skip("draws large pictures")
	}
	for _, ms := range []float64{1e-300, 1e308, 5e-324, math.Inf(1), math.NaN(), -1, 0} {
		for name, change := range map[string]func(*bestconfig.Document){
			"winner": func(b *bestconfig.Document) { b.Time.Median = ms },
			"baseline": func(b *bestconfig.Document) {
				b.Baselines[bestconfig.Default] = tuner.Baseline{TimeMS: ms, Speedup: ms / b.Time.Median}
			},
			"speedup": func(b *bestconfig.Document) { b.Baselines[torchtimes.Eager] = tuner.Baseline{TimeMS: 1, Speedup: ms} },
			"floor":   func(b *bestconfig.Document) { b.Roofline.FloorMS, b.Roofline.Share = ms, ms/b.Time.Median },
		} {
			b := convolution()
			change(&b)
			list := append(trials(5, 0, 1), trial.Trial{Outcome: trial.Outcome{Status: trial.OK, Time: trial.Timing{Median: ms}}})
			if err := SpeedupPlot(io.Discard, b); err == nil && (name == "winner" || name == "baseline") {
				t.Errorf("%s of %v: SpeedupPlot drew it", name, ms)
			}
			if err := ProgressPlot(io.Discard, b, list); err == nil {
				t.Errorf("a trial of %v: ProgressPlot drew it", ms)
			}
			if err := SummaryPlot(io.Discard, []bestconfig.Document{b}); err == nil && name == "speedup" && ms > 0 {
				t.Errorf("%s of %v: SummaryPlot drew it", name, ms)
			}
			if err := SearchTable(io.Discard, b, nil); err != nil {
				t.Errorf("%s of %v: %v", name, ms, err)
			}
		}
	}
}
