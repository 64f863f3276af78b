package webpage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/reports"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/bestconfig"
	"autotune/tuner/explain"
	"autotune/tuner/family"
	"autotune/tuner/final"
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
	best, trials, err := bestconfig.FromRecording(r, p)
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
	s.Best = bestconfig.Document{
		Tool: text, Operator: text, Problem: operator.ProblemRecord{Operator: text, Shape: []int64{4}, Math: text, MathBy: text, Text: text + " 4 " + text},
		Device:        device.Info{Name: text, Kind: device.Replay, Driver: text, Compiler: text, Recording: text},
		Configuration: winner.Configuration, Macros: map[string]string{text: text}, Target: text, KernelDigest: text, ReferenceDigest: text,
		Launches: operator.Launches{{Entry: text, Grid: [3]int64{1, 1, 1}, Block: [3]int64{32, 1, 1}}},
		Time:     winner.Time, Warnings: []string{text}, RecordedAt: began, Doubts: []trial.Warning{{Kind: trial.Throttled, Reason: text, Trials: 1}},
		Recording: &bestconfig.Recording{File: text, Device: text, RecordedAt: began}, Search: bestconfig.Search{Strategy: text},
	}
	s.Best.Search.StartedFrom = []string{text + " 1 " + text}
	s.Best.Confirmation = &final.Confirmation{Worker: text, Time: winner.Time}
	s.Best.Gates = &final.Gates{Launches: 100, Neighbours: []string{text}, LeftOut: []string{text}}
	s.Best.Ties = []final.Contender{{Configuration: configuration(0), Time: winner.Time}, {Configuration: configuration(21), Time: winner.Time}}
	s.Best.SetRoofline(1<<20, 1<<24, 1e6)
	s.Best.SetPeaks(device.Peaks{device.PeakL2: 3e6, device.PeakFP32: 6e7, device.PeakFP16: 1e12})
	s.Best.Compare(bestconfig.Default, 5)
	s.Best.Compare(text, 7)
	s.Details = reports.Details{Failures: reports.FailuresOf(s.Trials, text)}
	s.Why = explain.Of(context.Background(), explain.Subject{Winner: winner, Trials: s.Trials, Bytes: 1 << 20, Flops: 1 << 24, CopyBytesPerMS: 1e6})
	s.Commands = []string{text}
	return s
}

// manyShapes is a family of two kernels for twelve shapes. Every text is the given one, but for names of dimensions.
func manyShapes(text string) Family {
	f := &family.Family{
		Operator: text, Shapes: text, Math: text, Dimensions: []string{"n", "h"}, Free: []string{"n", "h"}, MaxSlowdown: 1.1,
		Parameters: operator.Parameters{{Name: text, Value: text}}, Device: device.Info{Name: text},
		Tree: &family.Node{
			If: "n*h <= 40", Then: &family.Node{Entries: []int{0}}, Else: &family.Node{
				If: "h <= 12", Then: &family.Node{Entries: []int{1}}, Else: &family.Node{}},
		},
		LeftOut: []family.LeftOut{{Shape: []int64{1, 1}, Reason: text}},
	}
	for _, template := range []string{text + "0", text + "1"} {
		f.Entries = append(f.Entries, family.Entry{Configuration: space.Configuration{Template: template}})
	}
	for i := range 12 {
		s := family.Sample{Shape: []int64{1 << (i % 4), int64(8 + i)}, Chosen: i%3 - 1, Slowdown: 1 + float64(i)/50}
		if s.OwnBest.Median = 1; i%4 == 3 {
			f.HeldOut = append(f.HeldOut, s)
		} else {
			f.Samples = append(f.Samples, s)
		}
	}
	return Family{Family: f, Commands: []string{text}}
}

// written is a page in a file.
func written(t testing.TB, searches ...Search) (path, text string) {
	t.Helper()
	return writtenWith(t, nil, searches...)
}

// writtenWith is written with families.
func writtenWith(t testing.TB, families []Family, searches ...Search) (path, text string) {
	t.Helper()
	var page bytes.Buffer
	if err := (Page{Title: "a page", Searches: searches, Families: families}).Write(&page); err != nil {
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
	s := recorded(t, "h200*conv2d*tf32*")
	_, page := written(t, s)
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
		if !strings.HasPrefix(outside[1], "#") {
			t.Errorf("the page loads %s", outside[1])
		}
	}
	if n := strings.Count(rest, "<script"); n != 3 || strings.Contains(chartsText+scriptText, "</script") {
		t.Errorf("%d scripts", n)
	}
	if !strings.HasPrefix(reports.Verdict(s.Best), s.Best.Template+" wins with ") || len(s.Why.Sentences) < 3 {
		t.Fatalf("%s %q", reports.Verdict(s.Best), s.Why.Sentences)
	}
	for _, want := range append([]string{reports.Verdict(s.Best)}, s.Why.Sentences...) {
		if !strings.Contains(html.UnescapeString(rest), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

const hostile = `</script><script>window.caught=1</script><img src=x onerror="window.caught=2">'"{{.}}` + "\u2028\x1b[31m"

// What a recording holds is text, whatever it looks like.
func TestHostileTextIsText(t *testing.T) {
	_, page := writtenWith(t, []Family{manyShapes(hostile)}, made(60, hostile), made(60, hostile))
	rest := withoutCode(page)
	if n := strings.Count(rest, "<script"); n != 3 {
		t.Errorf("the page has %d scripts", n)
	}
	for _, markup := range []string{"<img src=x", "\x1b", "\u2028"} {
		if at := strings.Index(rest, markup); at >= 0 {
			t.Errorf("%q of a name is in the page: %s", markup, rest[max(0, at-200):at+50])
		}
	}
	var read struct {
		Searches []data
		Families []familyView
	}
	text := regexp.MustCompile(`(?s)id="data">(.*?)</script>`).FindStringSubmatch(rest)[1]
	if err := json.Unmarshal([]byte(text), &read); err != nil || len(read.Searches) != 2 || len(read.Searches[0].Trials.MS) != 60 || len(read.Families) != 1 {
		t.Errorf("the data: %v, %d searches, %d families", err, len(read.Searches), len(read.Families))
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

// Of two searches of a problem on a device the later one says what changed.
func TestChange(t *testing.T) {
	day := func(n int, ms float64, change func(*bestconfig.Document)) Search {
		s := made(1, "t")
		s.Best.RecordedAt = time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC)
		s.Best.Time = trial.Timing{Median: ms, CI95: [2]float64{ms * 0.999, ms * 1.001}, Samples: 30}
		if change != nil {
			change(&s.Best)
		}
		return s
	}
	searches := []Search{
		day(3, 1.1, func(b *bestconfig.Document) { b.Device.Driver = "580" }),
		day(1, 1, nil),
		day(2, 1.0005, nil),
		day(4, 0.5, func(b *bestconfig.Document) { b.Device.Name = "another" }),
		day(5, 0.5, func(b *bestconfig.Document) { b.Values = nil }),
	}
	for i, want := range []string{
		"Since 2026-01-02 the winner takes 9.9 % longer (1.100 ms, was 1.000 ms), beyond both intervals; the driver was t.",
		"",
		"Since 2026-01-01 nothing changed that the intervals can tell (1.000 ms, was 1.000 ms).",
		"",
		"Since 2026-01-03 the winner takes 55 % less (0.5000 ms, was 1.100 ms), beyond both intervals; it was t0 ta=0 tb=t0; the driver was 580.",
	} {
		if got := changeOf(searches, i); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

// widest is the tunable of a template with the most values, the winner's value of it, and how
// many right trials have that.
func widest(d data, template int) (k, v, trials int) {
	for i, t := range d.Templates[template].Tunables {
		if len(t.Values) > len(d.Templates[template].Tunables[k].Values) {
			k = i
		}
	}
	v = d.Trials.Values[d.Winner][k]
	for i, values := range d.Trials.Values {
		if d.Trials.Template[i] == template && values[k] == v && d.Trials.MS[i] > 0 {
			trials++
		}
	}
	return k, v, trials
}

// timedTrials counts the trials that have a time.
func timedTrials(s Search) (n int) {
	for _, t := range s.Trials {
		if t.Status == trial.OK {
			n++
		}
	}
	return n
}

// In a browser the verdict is there, a selection in one chart shows in another, and nothing is said in the console.
func TestInABrowser(t *testing.T) {
	b := browse(t)
	search := recorded(t, "h100*depthwise_conv2d*")
	path, _ := written(t, search)
	b.open(path)
	b.drawn()
	d := dataOf(search, mostShown)
	template := d.Trials.Template[d.Winner]
	k, v, n := widest(d, template)
	label := fmt.Sprintf("Selected: %d trials of %s with %s=%s; the best takes", n, d.Templates[template].Name, d.Templates[template].Tunables[k].Name, d.Templates[template].Tunables[k].Values[v])
	other := (template + 1) % len(d.Templates)
	dots := `.series.filter((s) => s.type === "scatter")`
	for _, ask := range []struct{ what, want string }{
		{`document.querySelector(".verdict").textContent`, reports.Verdict(search.Best)},
		{`document.querySelectorAll("canvas").length`, "5"},
		{`document.querySelector("article").selection().selected`, "0"},
		{`document.querySelector("article").option("progress")` + dots + `[0].data.length`, fmt.Sprint(timedTrials(search))},
		// A button of a tunable's value selects its trials; it is reached with the keyboard.
		{fmt.Sprintf(`{ const b = [...document.querySelectorAll(".effect button")].find((b) => b.dataset.value === "%d %d"); b.focus(); b.click(); } document.activeElement.getAttribute("aria-pressed")`, k, v), "true"},
		{fmt.Sprintf(`document.querySelector(".selection p").textContent.startsWith(%q)`, label), "true"},
		{`document.querySelector("article").option("progress")` + dots + `[1].data.length`, fmt.Sprint(n)},
		{`document.querySelector("article").option("templates")` + dots + `[1].data.length`, fmt.Sprint(n)},
		{`document.querySelector("button.clear").click(); document.querySelector("article").selection().selected`, "0"},
		{`document.querySelector(".selection").hidden`, "true"},
		// The arrow keys begin at the winner.
		{`document.querySelector('[data-chart="progress"]').dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"})); document.querySelector("article").selection().trial`, fmt.Sprint(d.Winner)},
		{`document.querySelector('[data-chart="progress"]').dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"})); document.querySelector("article").selection().selected`, "0"},
		// Another template, and the other axis.
		{fmt.Sprintf(`{ const s = document.querySelector("select.template"); s.value = "%d"; s.dispatchEvent(new Event("change")); } document.querySelectorAll(".effect").length`, other), fmt.Sprint(len(d.Templates[other].Tunables))},
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
	path, _ = writtenWith(t, []Family{manyShapes(hostile)}, made(100_000, hostile), made(0, ""), failed)
	b.open(path)
	b.drawn()
	// A kernel's button selects the shapes for which it is chosen.
	if got := b.ask(`{ const f = document.querySelector("#f0"); f.querySelectorAll("button.entry")[1].click(); f.option().series.filter((s) => s.name === "rest")[0].data.length }`); got != "8" {
		t.Errorf("beside one kernel's shapes there are %s others", got)
	}
	if got := b.ask(`String(window.caught) + " " + (document.querySelector("article").option("progress") !== null)`); got != "undefined true" {
		t.Errorf("of a page with hostile names: %s", got)
	}
	// The first condition's product is across, and its turn is drawn.
	path, _ = writtenWith(t, []Family{manyShapes("a")})
	b.open(path)
	b.drawn()
	if got := b.ask(`{ const o = document.querySelector("#f0").option(); o.xAxis[0].name + " " + o.yAxis[0].name + " " + JSON.stringify(o.series.filter((s) => s.name === "turn").map((s) => s.data.map((p) => Math.min(...p)))) }`); !strings.HasPrefix(got, "n*h h [[") || strings.Count(got, "],[") != 1 {
		t.Errorf("the map is drawn over %s", got)
	}
	if got := b.ask(`[...document.querySelectorAll("td.far")].map((cell) => cell.textContent).join()`); got != "1.120,1.160,1.180,1.200,1.140,1.220" {
		t.Errorf("marked are %s", got)
	}
	fits(t, b)
	b.quiet()
}

// fits looks at a page on a phone, in the dark and in print.
func fits(t *testing.T, b *browser) {
	t.Helper()
	media := func(media, scheme string) {
		b.do("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	}
	path, _ := written(t, made(200, "t"))
	b.open(path)
	for _, width := range []int{360, 1100} {
		b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false})
		b.drawn()
		// Charts follow a little later.
		if got := b.ask(`new Promise((done) => { let tries = 0; const look = () => document.documentElement.scrollWidth <= innerWidth || ++tries > 100 ? done(tries <= 100) : setTimeout(look, 20); look(); })`); got != "true" {
			t.Errorf("a page of %d columns is as wide as %s", width, b.ask(`document.documentElement.scrollWidth`))
		}
	}
	const paper = `getComputedStyle(document.documentElement).backgroundColor`
	media("", "light")
	light := b.ask(paper)
	media("", "dark")
	if b.ask(paper) == light {
		t.Error("in the dark the page is as light")
	}
	media("print", "dark")
	if got := b.ask(`dispatchEvent(new Event("beforeprint")); [` + paper + `, getComputedStyle(document.querySelector(".controls")).display, document.querySelectorAll("canvas").length > 3].join(" ")`); got != light+" none true" {
		t.Errorf("in print: %s", got)
	}
}
