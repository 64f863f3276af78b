// Package webpage writes searches and families as one HTML page that is whole by itself: it
// loads nothing and tells nobody. Without scripts it is text, tables and pictures; with them its
// charts answer to what is selected.
//
// page.html.tmpl has the page's text, page.css its looks, and search.js and family.js its charts,
// which echarts.js draws (docs/dependencies.md). The trials stand in the page as JSON (data.go). A
// content security policy names the two scripts and the style by their digests, so nothing
// that a recording holds can become a script.
package webpage

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner/bestconfig"
	"autotune/tuner/explain"
)

//go:embed page.html.tmpl
var pageText string

//go:embed page.css
var styleText string

//go:embed charts.js search.js family.js page.js
var scripts embed.FS

// scriptText is the page's own script, one function of all its files.
var scriptText = func() string {
	text := "\"use strict\";\n(() => {\n"
	for _, name := range []string{"charts.js", "search.js", "family.js", "page.js"} {
		part, err := scripts.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		text += string(part)
	}
	return text + "})();\n"
}()

//go:embed echarts.js
var chartsText string

// Search is what a page tells of one search.
type Search struct {
	Best     bestconfig.Document
	Details  reports.Details
	Trials   []trial.Trial       // none: a document alone is told of
	Why      explain.Explanation // without a template: it is not known
	Commands []string            // that go on from here
}

// view is a search as the page's template has it.
type view struct {
	Of         Search
	Texts      reports.Texts
	ID         string
	Verdict    string
	Templates  []standing
	Ties       []string
	Provenance [][2]string
	Pictures   []picture // for readers without scripts
	Thinned    string
	Change     string // since the search before
	Plotted    bool   // there are trials to draw
}

// picture is a plot that stands in the page.
type picture struct {
	URL template.URL
	Alt string
}

// mostPictures is how many searches have pictures for readers without scripts.
const mostPictures = 4

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"line": output.Line,
}).Parse(pageText))

// Page is what a page tells.
type Page struct {
	Title    string
	Searches []Search
	Families []Family
}

// laid is a page as its template has it, and its data as JSON.
func (p Page) laid() (fields map[string]any, text []byte, err error) {
	searches := p.Searches
	views, all := make([]view, len(searches)), make([]data, len(searches))
	for i, s := range searches {
		all[i] = dataOf(s, shownOf(len(searches)))
		v := viewOf(s, i, len(searches) <= mostPictures)
		v.Change = changeOf(searches, i)
		v.Thinned, v.Plotted = all[i].thinned, len(all[i].Trials.MS) > 0
		views[i] = v
	}
	families, choices := make([]familyView, len(p.Families)), make([]familyData, len(p.Families))
	for i, f := range p.Families {
		families[i], choices[i] = familyView{f, fmt.Sprintf("f%d", i)}, familyDataOf(f)
	}
	text, err = json.Marshal(map[string]any{"searches": all, "families": choices}) // which escapes what could end the element
	return map[string]any{"Title": output.Line(p.Title), "Searches": views, "Families": families, "Several": len(views)+len(families) > 1, "Headed": len(views)+len(families) != 1}, text, err
}

// Write writes the page.
func (p Page) Write(w io.Writer) error {
	fields, text, err := p.laid()
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	style, charts, script := element("style", styleText), element("script", chartsText), element("script", scriptText)
	policy := fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s' '%s'; base-uri 'none'; form-action 'none'",
		style.digest, charts.digest, script.digest)
	fields["Policy"], fields["Style"], fields["Charts"], fields["Script"] = policy, style.html, charts.html, script.html
	fields["Data"] = template.HTML(`<script type="application/json" id="data">` + string(text) + "</script>")
	var out bytes.Buffer
	if err := page.Execute(&out, fields); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = out.WriteTo(w)
	return err
}

// code is a script or style element of this program's own.
type code struct {
	html   template.HTML
	digest string // as a content security policy names it
}

func element(name, text string) code {
	sum := sha256.Sum256([]byte(text))
	return code{template.HTML("<" + name + ">" + text + "</" + name + ">"), "sha256-" + base64.StdEncoding.EncodeToString(sum[:])}
}

// viewOf is a search in words and pictures.
func viewOf(s Search, at int, pictures bool) view {
	b := s.Best
	v := view{Of: s, Texts: reports.TextsOf(b, s.Details), ID: fmt.Sprintf("s%d", at), Verdict: reports.Verdict(b), Templates: standings(b, s.Trials)}
	for _, c := range b.Ties {
		if c.Key() != b.Key() {
			v.Ties = append(v.Ties, v.Texts.Unit.Format(c.Time.Median)+" "+c.Configuration.String())
		}
	}
	v.Provenance = provenance(b, v.Texts)
	if !pictures {
		return v
	}
	for _, p := range []struct {
		alt  string
		draw func(io.Writer) error
		ok   bool
	}{
		{"The winner's time beside those of the baselines", func(w io.Writer) error { return reports.SpeedupPlot(w, b) }, b.Found()},
		{"Each trial's time, and the best so far", func(w io.Writer) error { return reports.ProgressPlot(w, b, s.Trials) }, len(s.Trials) > 0 && len(s.Trials) <= mostShown},
	} {
		if !p.ok {
			continue
		}
		var png bytes.Buffer
		if p.draw(&png) != nil {
			continue // a number that cannot be plotted costs only the picture
		}
		v.Pictures = append(v.Pictures, picture{template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png.Bytes())), p.alt})
	}
	return v
}

// changeOf says what changed since the search before of the same problem on the same device; "": the page has none.
func changeOf(searches []Search, at int) string {
	now, before := searches[at].Best, -1
	for i, s := range searches {
		if b := s.Best; now.Found() && b.Comparable(now) && b.RecordedAt.Before(now.RecordedAt) &&
			(before < 0 || b.RecordedAt.After(searches[before].Best.RecordedAt)) {
			before = i
		}
	}
	if before < 0 {
		return ""
	}
	return reports.Since(now, searches[before].Best)
}

// provenance is what the times depend on, those known.
func provenance(b bestconfig.Document, t reports.Texts) [][2]string {
	rows := [][2]string{
		{"problem", t.Title + " " + t.Parameters}, {"device", t.Setting}, {"driver", b.Device.Driver}, {"compiler", b.Device.Compiler},
		{"compiled for", b.Target}, {"conditions", b.Conditions.String()}, {"tool", b.Tool}, {"kernel", digest(b.KernelDigest)},
		{"reference", digest(b.ReferenceDigest)}, {"trials", t.Trials}, {"search", t.Search}, {"start", t.Start}, {"finals", t.Finals},
	}
	if b.Problem.MathBy != "" {
		rows = append(rows, [2]string{"math", b.Problem.Math + ", " + b.Problem.MathBy})
	}
	rows = append(rows, lists.Of(b.Launches.Lines(), func(line string) [2]string { return [2]string{"launch", line} })...)
	if b.Recording != nil {
		rows = append(rows, [2]string{"recording", b.Recording.File})
	}
	known := rows[:0]
	for _, row := range rows {
		if row[1] = output.Line(row[1]); row[1] != "" {
			known = append(known, row)
		}
	}
	return known
}

// digest is enough of one to recognise it.
func digest(of string) string { return of[:min(len(of), 16)] }

// standing is how a template did.
type standing struct {
	Template     string
	Right, Other int // trials
	Best, Median string
	Config       string // the fastest
}

// standings are the templates, the fastest first.
func standings(b bestconfig.Document, trials []trial.Trial) []standing {
	times, best := map[string][]float64{}, trial.Bests(trials)
	other := map[string]int{}
	var names []string
	for _, t := range trials {
		if _, known := times[t.Template]; !known {
			names = append(names, t.Template)
			times[t.Template] = nil
		}
		if t.Status != trial.OK {
			other[t.Template]++
			continue
		}
		times[t.Template] = append(times[t.Template], t.Time.Median)
	}
	unit := reports.TextsOf(b, reports.Details{}).Unit
	list := make([]standing, len(names))
	for i, name := range names {
		one := standing{Template: name, Right: len(times[name]), Other: other[name]}
		if one.Right > 0 {
			one.Best, one.Median = unit.Format(best[name].Time.Median), unit.Format(trial.Median(times[name]))
			one.Config = strings.Join(best[name].Values.Words(), " ")
		}
		list[i] = one
	}
	time := func(s standing) float64 {
		if s.Right == 0 {
			return math.Inf(1)
		}
		return best[s.Template].Time.Median
	}
	slices.SortStableFunc(list, func(a, b standing) int { return cmp.Compare(time(a), time(b)) })
	return list
}
