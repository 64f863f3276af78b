// Package webpage writes searches and families as one HTML page that is whole by itself: it loads nothing and sends
// nothing. Without scripts it is text and tables; with them its charts answer to what is selected.
//
// page.html.tmpl has the page's text, page.css its looks, and search.js and family.js its charts, which echarts.js
// draws (docs/dependencies.md). The trials stand in the page as JSON (data.go). A content security policy names the two
// scripts and the style by their digests, so nothing that a recording holds can become a script.
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
	"slices"
	"strings"

	"autotune/device/trial"
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

// Search is what a page says about one search.
type Search struct {
	Best     bestconfig.Document
	Details  reports.Details
	Trials   []trial.Trial       // empty: there is only the document
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
	Thinned    string
	Change     string // since the search before
	Plotted    bool   // there are trials to draw
}

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"line": output.Line,
}).Parse(pageText))

// Page is what a page shows.
type Page struct {
	Title    string
	Searches []Search
	Families []Family
}

// Write writes the page.
func (p Page) Write(w io.Writer) error {
	views, all := make([]view, len(p.Searches)), make([]data, len(p.Searches))
	for i, s := range p.Searches {
		all[i] = dataOf(s, shownOf(len(p.Searches)))
		v := viewOf(s, fmt.Sprintf("s%d", i))
		v.Change = changeOf(p.Searches, i)
		v.Thinned, v.Plotted = all[i].thinned, len(all[i].Trials.MS) > 0
		views[i] = v
	}
	families := make([]familyView, len(p.Families))
	for i, f := range p.Families {
		families[i] = familyViewOf(f, fmt.Sprintf("f%d", i))
	}
	// JSON escapes what could end the element.
	text, err := json.Marshal(map[string]any{"searches": all, "families": families})
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	style, styleDigest := element("style", styleText)
	charts, chartsDigest := element("script", chartsText)
	script, scriptDigest := element("script", scriptText)
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Title": output.Line(p.Title), "Searches": views, "Families": families,
		"Several": len(views)+len(families) > 1, "Headed": len(views)+len(families) != 1,
		"Policy": fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s' '%s'; "+
			"base-uri 'none'; form-action 'none'", styleDigest, chartsDigest, scriptDigest),
		"Style": style, "Charts": charts, "Script": script,
		"Data": template.HTML(`<script type="application/json" id="data">` + string(text) + "</script>"),
	})
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = out.WriteTo(w)
	return err
}

// element is a script or style element of this program's own, and its digest as a content security policy names it.
func element(name, text string) (html template.HTML, digest string) {
	sum := sha256.Sum256([]byte(text))
	html = template.HTML("<" + name + ">" + text + "</" + name + ">")
	return html, "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// viewOf is a search in words.
func viewOf(s Search, id string) view {
	b, texts := s.Best, reports.TextsOf(s.Best, s.Details)
	v := view{Of: s, Texts: texts, ID: id, Verdict: reports.Verdict(b), Templates: standings(texts.Unit, s.Trials)}
	for _, c := range b.Ties {
		if c.Key() != b.Key() {
			v.Ties = append(v.Ties, texts.Unit.Format(c.Time.Median)+" "+c.Configuration.String())
		}
	}
	v.Provenance = provenance(b, texts)
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
		{"problem", t.Title + " " + t.Parameters}, {"device", t.Setting}, {"driver", b.Device.Driver},
		{"compiler", b.Device.Compiler}, {"compiled for", b.Target}, {"conditions", b.Conditions.String()},
		{"tool", b.Tool}, {"kernel", digest(b.KernelDigest)}, {"reference", digest(b.ReferenceDigest)},
		{"trials", t.Trials}, {"search", t.Search}, {"start", t.Start}, {"finals", t.Finals},
	}
	if b.Problem.MathBy != "" {
		rows = append(rows, [2]string{"math", b.Problem.Math + ", " + b.Problem.MathBy})
	}
	for _, line := range b.Launches.Lines() {
		rows = append(rows, [2]string{"launch", line})
	}
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
func standings(unit reports.Unit, trials []trial.Trial) []standing {
	times, best := map[string][]float64{}, trial.Bests(trials)
	var list []standing
	places := map[string]int{}
	for _, t := range trials {
		at, known := places[t.Template]
		if !known {
			at = len(list)
			places[t.Template] = at
			list = append(list, standing{Template: t.Template})
		}
		if t.Status == trial.OK {
			list[at].Right++
			times[t.Template] = append(times[t.Template], t.Time.Median)
		} else {
			list[at].Other++
		}
	}
	for i := range list {
		if t, found := best[list[i].Template]; found {
			list[i].Best, list[i].Median = unit.Format(t.Time.Median), unit.Format(trial.Median(times[t.Template]))
			list[i].Config = strings.Join(t.Values.Words(), " ")
		}
	}
	slices.SortStableFunc(list, func(a, b standing) int {
		x, y := best[a.Template], best[b.Template]
		return cmp.Or(cmp.Compare(min(1, b.Right), min(1, a.Right)), cmp.Compare(x.Time.Median, y.Time.Median))
	})
	return list
}
