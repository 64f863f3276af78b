package webpage

import (
	"regexp"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/reports"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/bestconfig"
	"autotune/tuner/explain"
	"autotune/tuner/family"
	"autotune/tuner/final"
)

// made returns a search whose document contains the given text in place of every name and message.
func made(text string) Search {
	winner := trial.Trial{Configuration: space.Configuration{
		Template: text, Values: space.Values{{Name: text, Value: expr.String(text)}},
	}}
	winner.Status = trial.OK
	winner.SetSamples([]float64{1, 1.01, 1.02}, 1)
	failed := winner
	failed.Fail(trial.WrongResult, text)
	b := bestconfig.Document{
		Tool: text, Operator: text, Device: device.Info{Name: text, Kind: device.Replay, Driver: text, Recording: text},
		Problem:       operator.ProblemRecord{Operator: text, Shape: []int64{4}, MathBy: text, Text: text + " 4 " + text},
		Configuration: winner.Configuration, Time: winner.Time, Warnings: []string{text},
		Launches:  operator.Launches{{Entry: text, Grid: [3]int64{1, 1, 1}, Block: [3]int64{32, 1, 1}}},
		Recording: &bestconfig.Recording{File: text, Device: text},
	}
	b.Confirmation = &final.Confirmation{Worker: text, Time: winner.Time}
	b.Compare(text, 7)
	trials := []trial.Trial{winner, failed}
	return Search{Best: b, Trials: trials, Failures: reports.FailuresOf(trials, text),
		Why: explain.Explanation{Sentences: []string{text}, Tunables: []explain.Tunable{{Name: text, Value: text}}}}
}

func written(t *testing.T, p Page) string {
	t.Helper()
	var text strings.Builder
	must.OK(t, p.Write(&text))
	return text.String()
}

// Text in a recording must appear as text, whatever it looks like, and must not make the page load anything.
func TestHostileTextIsText(t *testing.T) {
	const hostile = `</pre><script>window.caught=1</script><img src=x onerror="window.caught=2">'"{{.}}` + "\u2028\x1b[31m"
	f := &family.Family{
		Operator: hostile, Shapes: hostile, Math: hostile, Free: []string{"n"}, Device: device.Info{Name: hostile},
		Parameters: operator.Parameters{{Name: hostile, Value: hostile}}, Tree: &family.Node{Entries: []int{0}},
		Entries: []family.Entry{{Configuration: space.Configuration{Template: hostile}}},
		Samples: []family.Sample{{Shape: []int64{4}, Slowdown: 1}},
		LeftOut: []family.LeftOut{{Shape: []int64{1}, Reason: hostile}},
	}
	page := written(t, Page{Searches: []Search{made(hostile), made(hostile)}, Families: []*family.Family{f}})
	for _, markup := range []string{"<script", "<img src=x", "\x1b", "\u2028"} {
		if at := strings.Index(page, markup); at >= 0 {
			t.Errorf("%q of a name is in the page: %s", markup, page[max(0, at-200):at+50])
		}
	}
	for _, loaded := range regexp.MustCompile(`(?:src|href)="(.{30})`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(loaded[1], "data:image/png;base64,") {
			t.Errorf("the page loads %s", loaded[1])
		}
	}
}

// A page must have the tables of the commands, the explanation of the winner, and the plots. A page of several
// searches must also have a summary.
func TestPage(t *testing.T) {
	one := written(t, Page{Searches: []Search{made("t")}})
	for want, n := range map[string]int{"<h1>t 4</h1>": 1, "Why it wins": 1, "compared  ": 1, "<img ": 2, "over t": 0} {
		if got := strings.Count(one, want); got != n {
			t.Errorf("%q is %d times in the page, want %d", want, got, n)
		}
	}
	document := made("t")
	document.Trials, document.Why = nil, explain.Explanation{}
	document.Best.Time.Median = 1e-300
	several := written(t, Page{Searches: []Search{document, made("t")}})
	for want, n := range map[string]int{"| problem": 1, "Why it wins": 1, "<img ": 2, "no plot of the times compared": 1} {
		if got := strings.Count(several, want); got != n {
			t.Errorf("%q is %d times in a page of two searches, want %d", want, got, n)
		}
	}
}
