package reports

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/simulate"
)

func failedAs(status trial.Status, vec int64, message string) trial.Trial {
	return trial.Trial{
		Configuration: space.Configuration{Template: "direct", Values: space.Values{{Name: "vec", Value: expr.Int(vec)}}},
		Outcome:       trial.Outcome{Status: status, Message: message},
	}
}

func TestFailures(t *testing.T) {
	list := []trial.Trial{
		failedAs(trial.OK, 1, ""),
		failedAs(trial.WrongResult, 2, "4 elements differ"),
		failedAs(trial.CompileError, 3, "no such name\nin line 4"),
		failedAs(trial.WrongResult, 4, "a guard zone was overwritten"),
		failedAs(trial.WrongResult, 5, "17 elements differ"),
		failedAs(trial.Pruned, 6, "not in the recording"),
	}
	want := []Failure{
		{trial.CompileError, 1, "no such name", 1, "template=direct,vec=3", "verify x --config template=direct,vec=3"},
		{trial.WrongResult, 3, "4 elements differ", 2, "template=direct,vec=2", "verify x --config template=direct,vec=2"},
	}
	if got := FailuresOf(list, "verify x"); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := FailuresOf(list, ""); got[0].Show != "" {
		t.Errorf("a command where nothing runs: %q", got[0].Show)
	}
}

func shown(t *testing.T, b bestconfig.Document) string {
	t.Helper()
	var out bytes.Buffer
	must.OK(t, SearchTable(&out, b, nil))
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(line) > tableWidth+1 {
			t.Errorf("a line of %d letters: %q", utf8.RuneCountInString(line), line)
		}
	}
	return out.String()
}

// All times in a table must have the same unit, and no line may end between a number and its unit.
func TestOneUnit(t *testing.T) {
	units := regexp.MustCompile(`[0-9] (µs|ms|s)\b`)
	for _, untuned := range []float64{2e-6, 0.004, 0.0999, 0.1001, 7, 99999, 1e5, 1e8} {
		for _, median := range []float64{1e-6, 0.002, 0.09, 0.11, 5, 1.1e5} {
			if untuned/median > 1e5 || median/untuned > 1e5 {
				continue // so large a ratio never occurs, and columns would overlap
			}
			b := convolution()
			b.Search.Evaluations, b.Search.Resumed = 0, 412
			b.Baselines, b.Time.Median, b.Time.CI95 = nil, median, [2]float64{median * 0.9, median * 1.1}
			b.Compare(bestconfig.Default, untuned)
			b.Compare(bestconfig.Reference, untuned*30)
			text := shown(t, b)
			found := map[string]bool{}
			for _, match := range units.FindAllStringSubmatch(text, -1) {
				found[match[1]] = true
			}
			if len(found) != 1 || !found[UnitOf(untuned).Name] {
				t.Errorf("units %v of a default of %v ms:\n%s", found, untuned, text)
			}
			if broken := regexp.MustCompile(`(?m) [0-9.]+$\n +(µs|ms|s|%|GB)`).FindString(text); broken != "" {
				t.Errorf("broken: %q", broken)
			}
		}
	}
}

// A configuration that a replay has no recording of must not count as evaluated.
func TestReplayCountsWhatItAnswered(t *testing.T) {
	r := tuner.Record{
		Device: device.Info{Name: "NVIDIA H100", Kind: device.Replay}, Strategy: "random",
		Counts: tuner.Counts{Total: 500, ByStatus: map[trial.Status]int{trial.OK: 21, trial.Pruned: 479}},
	}
	b := bestconfig.FromRecord(r)
	if b.Search.Evaluations != 21 {
		t.Errorf("%d evaluations, want 21", b.Search.Evaluations)
	}
	if got := strings.Join(strings.Fields(shown(t, b)), " "); !strings.Contains(got, "21 evaluated in 0.00 s; the recording lacks 479 others that the strategy asked for") {
		t.Error(got)
	}
	r.Device.Kind = device.CUDA // on a GPU, resources can rule out a launch
	if b := bestconfig.FromRecord(r); b.Search.Evaluations != 500 {
		t.Errorf("%d evaluations on a GPU, want 500", b.Search.Evaluations)
	}
}

// A long name must be shortened, so that no line is wider than a terminal.
func TestSimulationTable(t *testing.T) {
	r := &simulate.Report{Repeats: 50}
	r.Recordings = []simulate.About{{Name: strings.Repeat("a_very_long_name", 6), Configurations: 7689}, {Name: "part"}}
	for _, name := range []string{"bayesian", "random"} {
		r.Strategies = append(r.Strategies, simulate.Standing{
			Strategy: name, Mean: -637.58, CI95: [2]float64{-663.43, -600.1}, Scores: []simulate.Score{{Score: -1637.576}, {Score: 1}},
		})
	}
	var out bytes.Buffer
	must.OK(t, SimulationTable(&out, r))
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > tableWidth {
			t.Errorf("wide line %q", line)
		}
	}
	for _, want := range []string{"  7689  ", "  -1637.58  ", "-637.580", "-663.43 to -600.10", "50 repeats"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := SimulationTable(brokenPipe{}, r); err == nil {
		t.Error("a broken pipe is no error")
	}
}

// If a terminal is too narrow for the Markdown table, the summary must be a narrower table that fits.
func TestSummaryFitsTheTerminal(t *testing.T) {
	list := []bestconfig.Document{convolution(), convolution(), convolution()}
	list[1].Operator = strings.Repeat("long", 20)
	list[2].Conditions.L2 = device.Warm
	for _, width := range []int{80, 100} {
		var out bytes.Buffer
		must.OK(t, SummaryTable(&out, list, width))
		text := out.String()
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("%d columns: bad line %q", width, line)
			}
		}
		for _, want := range []string{"problem ", "2.26x", "1.13x", "50.7 %", "6.270", "  direct, NVIDIA H100 80GB HBM3, warm L2\n", "…"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, text)
			}
		}
	}
	for _, width := range []int{0, 300} {
		var out bytes.Buffer
		if err := SummaryTable(&out, list, width); err != nil || !strings.HasPrefix(out.String(), "| problem ") {
			t.Errorf("%d columns: %v\n%s", width, err, out.String())
		}
	}
}
