package webpage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/reports"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/device"
	"autotune/tuner/explain"
	"autotune/tuner/final"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
	"autotune/tuner/trial"
)

// recorded is the search of a shipped recording.
func recorded(t testing.TB, name string) Search {
	t.Helper()
	entries, err := filepath.Glob("../../recordings/" + name)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	r, err := recording.Load(t.Context(), entries[0])
	if err != nil {
		t.Fatal(err)
	}
	op, err := operator.Find(r.Metadata.Problem.Operator)
	if err != nil {
		t.Fatal(err)
	}
	p, err := op.Bind(r.Metadata.Problem.Request(), r.Metadata.Device.Limits)
	if err != nil {
		t.Fatal(err)
	}
	best, trials, err := reports.FromRecording(r, p)
	if err != nil {
		t.Fatal(err)
	}
	why := explain.Of(t.Context(), explain.Subject{Winner: best.WinningTrial(), Trials: trials, Problem: p, Limits: p.Limits,
		Bytes: best.Roofline.Bytes, Flops: best.Roofline.Flops, CopyBytesPerMS: best.Roofline.CopyBandwidth / 1000})
	return Search{Best: best, Trials: trials, Why: why, Commands: []string{"autotune search conv2d --shape 1x2x3x4"}}
}

// made is a search of n trials. Every text field is the given text.
func made(n int, text string) Search {
	r := rand.New(rand.NewPCG(1, 2))
	configuration := func(i int) space.Configuration {
		return space.Configuration{Template: text + fmt.Sprint(i%3), Values: space.Values{
			{Name: text + "a", Value: expr.Int(int64(i % 7))}, {Name: text + "b", Value: expr.String(text + fmt.Sprint(i%4))},
		}}
	}
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var s Search
	for i := range n {
		one := trial.Trial{Configuration: configuration(i), At: began.Add(time.Duration(i) * time.Second / 10)}
		one.Status = trial.OK
		ms := 1 + float64(i%7) + r.Float64()
		one.Time = trial.Timing{Median: ms, CI95: [2]float64{ms * 0.99, ms * 1.01}, Samples: 30}
		if i%11 == 10 {
			one.Fail(trial.WrongResult, text)
		}
		s.Trials = append(s.Trials, one)
	}
	if n == 0 {
		return s
	}
	winner := s.Trials[0]
	s.Best = reports.BestConfig{
		Tool: text, Operator: text, Problem: operator.ProblemRecord{Operator: text, Shape: []int64{4}, Math: text, MathBy: text, Text: text + " 4 " + text},
		Device:        device.Info{Name: text, Kind: device.Replay, Driver: text, Compiler: text, Recording: text},
		Configuration: winner.Configuration, Macros: map[string]string{text: text}, Target: text, KernelDigest: text, ReferenceDigest: text,
		Launches: operator.Launches{{Entry: text, Grid: [3]int64{1, 1, 1}, Block: [3]int64{32, 1, 1}}},
		Time:     winner.Time, Warnings: []string{text}, RecordedAt: began, Doubts: []trial.Warning{{Kind: trial.Remark, Reason: text, Trials: 1}},
		Metrics:   map[string]float64{text: 1},
		Recording: &reports.Recording{File: text, Device: text, RecordedAt: began}, Search: reports.Search{Strategy: text},
	}
	s.Best.Search.StartedFrom = []string{text + " 1 " + text}
	s.Best.Confirmation = &final.Confirmation{Worker: text, Time: winner.Time}
	s.Best.Gates = &final.Gates{Launches: 100, Neighbours: []string{text}, LeftOut: []string{text}}
	s.Best.Ties = []final.Contender{{Configuration: configuration(0), Time: winner.Time}, {Configuration: configuration(21), Time: winner.Time}}
	s.Best.SetRoofline(1<<20, 1<<24, 1e6)
	s.Best.Compare(reports.Default, 5)
	s.Best.Compare(reports.BaselineName(text), 7)
	s.Details = reports.Details{Failures: reports.FailuresOf(s.Trials, text)}
	s.Why = explain.Of(context.Background(), explain.Subject{Winner: winner, Trials: s.Trials, Bytes: 1 << 20, Flops: 1 << 24, CopyBytesPerMS: 1e6})
	s.Commands = []string{text}
	return s
}

// written is a page in a file.
func written(t testing.TB, searches ...Search) (path, text string) {
	t.Helper()
	var page bytes.Buffer
	if err := Write(&page, "a page", searches); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path, page.String()
}

// withoutCode is a page's text without the program's own scripts and style.
func withoutCode(page string) string {
	for _, own := range []string{chartsText, scriptText, styleText} {
		page = strings.Replace(page, own, "", 1)
	}
	return page
}

// A page loads nothing, and names its scripts and its style by what they are.
func TestPageIsWhole(t *testing.T) {
	_, page := written(t, recorded(t, "h100*conv2d*tf32*"))
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)[1]
	for _, own := range []string{chartsText, scriptText, styleText} {
		sum := sha256.Sum256([]byte(own))
		digest := strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;")
		if !strings.Contains(page, own) || !strings.Contains(policy, "sha256-"+digest) {
			t.Errorf("the policy %s lacks %s", policy, digest)
		}
	}
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src &#39;none&#39;") {
		t.Errorf("the policy is %s", policy)
	}
	rest := withoutCode(page)
	for _, outside := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(rest, -1) {
		if !strings.HasPrefix(outside[1], "#") && !strings.HasPrefix(outside[1], "data:image/png;base64,") {
			t.Errorf("the page loads %s", outside[1])
		}
	}
	if n := strings.Count(rest, "<script"); n != 3 || strings.Contains(chartsText+scriptText, "</script") {
		t.Errorf("%d scripts", n)
	}
	for _, want := range []string{
		"warpgroup_gemm wins with 3.694 ms (95 % interval 3.692 ms to 3.697 ms), 86.7 % of the roofline.",
		"It reaches 86.7 % of the measured copy bandwidth: memory is near, and something else takes time, too.", "throttled: power limit",
	} {
		if !strings.Contains(rest, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

const hostile = `</script><script>window.caught=1</script><img src=x onerror="window.caught=2">'"{{.}}` + "\u2028\x1b[31m"

// What a recording holds is text, whatever it looks like.
func TestHostileTextIsText(t *testing.T) {
	_, page := written(t, made(60, hostile), made(60, hostile))
	rest := withoutCode(page)
	if n := strings.Count(rest, "<script"); n != 3 {
		t.Errorf("the page has %d scripts", n)
	}
	for _, markup := range []string{"<img src=x", "\x1b", "\u2028"} {
		if at := strings.Index(rest, markup); at >= 0 {
			t.Errorf("%q of a name is in the page: %s", markup, rest[max(0, at-200):at+50])
		}
	}
	var read []data
	text := regexp.MustCompile(`(?s)id="data">(.*?)</script>`).FindStringSubmatch(rest)[1]
	if err := json.Unmarshal([]byte(text), &read); err != nil || len(read) != 2 || len(read[0].Trials.MS) != 60 {
		t.Errorf("the data: %v, %d searches", err, len(read))
	}
}

// A page of 2,000 trials is at most 2 MB, and one of 100,000 is not much larger.
func TestPageSize(t *testing.T) {
	for _, n := range []int{0, 1, 2000, 100_000} {
		_, page := written(t, made(n, "t"))
		if len(page) > 2_000_000 {
			t.Errorf("%d trials take %d bytes", n, len(page))
		}
		if told := strings.Contains(page, "Of 100000 trials the charts show"); told != (n > mostShown) {
			t.Errorf("%d trials: that the charts show fewer is told: %v", n, told)
		}
	}
}

func TestThin(t *testing.T) {
	trials := made(30_000, "t").Trials
	trials[17_001].SetSamples([]float64{0.1}, 1)
	shown := thin(trials, mostShown)
	if len(shown) > mostShown+100 || len(shown) < mostShown/2 || !slices.IsSorted(shown) || !slices.Contains(shown, 17_001) {
		t.Errorf("%d trials are shown", len(shown))
	}
	best := 1e9
	for i, x := range trials {
		if x.Status == trial.OK && x.Time.Median < best {
			best = x.Time.Median
			if !slices.Contains(shown, i) {
				t.Errorf("trial %d was the best so far and is not shown", i)
			}
		}
	}
	failed := 0
	for _, i := range shown {
		if trials[i].Status != trial.OK {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no failure is shown")
	}
}

// The columns tell of each trial what it was.
func TestDataOf(t *testing.T) {
	s := made(100, "t")
	d := dataOf(s, mostShown)
	for i, x := range s.Trials {
		p := d.Templates[d.Trials.Template[i]]
		for k, v := range x.Values {
			if got := p.Tunables[k]; got.Name != v.Name || got.Values[d.Trials.Values[i][k]] != v.Value.String() {
				t.Fatalf("trial %d: %s=%s, want %s", i, got.Name, got.Values[d.Trials.Values[i][k]], v.Value)
			}
		}
		if p.Name != x.Template || d.Statuses[d.Trials.Ended[i]] != string(x.Status) {
			t.Errorf("trial %d is of %s, %s", i, p.Name, d.Statuses[d.Trials.Ended[i]])
		}
	}
	if d.Winner != 0 || !slices.Equal(d.Ties, []int{21}) {
		t.Errorf("the winner is %d, and %d tie", d.Winner, d.Ties)
	}
	for _, p := range d.Templates {
		for _, one := range p.Tunables {
			if !slices.IsSortedFunc(one.Values, natural) {
				t.Errorf("values in the order %q", one.Values)
			}
		}
	}
}

// In a browser the verdict is there, a selection in one chart shows in another, and nothing is
// said in the console.
func TestInABrowser(t *testing.T) {
	b := browse(t)
	path, _ := written(t, recorded(t, "h100*conv2d*tf32*"))
	b.open(path)
	b.drawn()
	for _, ask := range []struct{ what, want string }{
		{`document.querySelector(".verdict").textContent.split(" ")[0]`, "warpgroup_gemm"},
		{`document.querySelectorAll("canvas").length`, "5"},
		{`document.querySelector("article").selection().selected`, "0"},
		{`document.querySelector("article").option("progress").series.filter((s) => s.type === "scatter")[0].data.length`, "266"},
		// A button of a tunable's value selects its trials; it is reached with the keyboard.
		{`{ const b = [...document.querySelectorAll(".effect button")].find((b) => b.dataset.value === "1 4"); b.focus(); b.click(); } document.activeElement.getAttribute("aria-pressed")`, "true"},
		{`document.querySelector(".selection p").textContent`, "Selected: 11 trials of warpgroup_gemm with columns=128; the best takes 3.694 ms"},
		{`document.querySelector("article").option("progress").series.filter((s) => s.type === "scatter")[1].data.length`, "11"},
		{`document.querySelector("article").option("templates").series.filter((s) => s.type === "scatter")[1].data.length`, "11"},
		{`document.querySelector("button.clear").click(); document.querySelector("article").selection().selected`, "0"},
		{`document.querySelector(".selection").hidden`, "true"},
		// The arrow keys begin at the winner.
		{`for (const key of ["ArrowRight", "ArrowLeft"]) document.querySelector('[data-chart="progress"]').dispatchEvent(new KeyboardEvent("keydown", {key})); document.querySelector(".selection p").textContent.split(",")[1]`, " trial 252 warpgroup_gemm alignment=4 columns=128 pieces=1 pingpong=1 producer_warps=8 stages=2 store_warps=2"},
		{`document.querySelector('[data-chart="progress"]').dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"})); document.querySelector("article").selection().selected`, "0"},
		// Another template, and the other axis.
		{`{ const s = document.querySelector("select.template"); s.value = [...s.options].find((o) => o.text === "implicit_gemm").value; s.dispatchEvent(new Event("change")); } document.querySelectorAll(".effect").length > 7`, "true"},
		{`document.querySelector("input[value=seconds]").click(); document.querySelector("article").option("progress").xAxis[0].name`, "seconds"},
	} {
		if got := b.ask(ask.what); got != ask.want {
			t.Errorf("%s: %s, want %s", ask.what, got, ask.want)
		}
	}
	// A click into the map of pairs selects in the charts above it.
	var at struct{ X, Y float64 }
	b.take(json.RawMessage(b.ask(`{ const e = document.querySelector('[data-chart="pairs"]'); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); JSON.stringify({X: r.x + r.width / 2, Y: r.y + r.height / 2}) }`)), &at)
	for dx := -200.0; dx <= 200 && b.ask(`document.querySelector("article").selection().selected`) == "0"; dx += 50 {
		for _, event := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
			b.do("Input.dispatchMouseEvent", map[string]any{"type": event, "x": at.X + dx, "y": at.Y, "button": "left", "clickCount": 1})
		}
	}
	if got := b.ask(`{ const a = document.querySelector("article"), n = a.selection().selected; n > 0 && a.option("templates").series.filter((s) => s.type === "scatter")[1].data.length === n }`); got != "true" {
		t.Errorf("a click into the map of pairs selects %s", b.ask(`JSON.stringify(document.querySelector("article").selection())`))
	}
	failed := made(20, "t")
	failed.Best.Template = ""
	for i := range failed.Trials {
		failed.Trials[i].Fail(trial.Crashed, "t")
	}
	// Names that are markup run nothing, and a page of many trials opens.
	path, _ = written(t, made(100_000, hostile), made(0, ""), failed)
	b.open(path)
	b.drawn()
	if got := b.ask(`String(window.caught) + " " + (document.querySelector("article").option("progress") !== null)`); got != "undefined true" {
		t.Errorf("of a page with hostile names: %s", got)
	}
	b.quiet()
}
