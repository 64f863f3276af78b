package webpage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/space"
	"autotune/tuner/bestconfig"
)

// data is a search as the page's script reads it. Trials are columns, since there may be many.
type data struct {
	Unit      reports.Unit `json:"unit"` // of all times; times themselves are milliseconds
	Templates []parameters `json:"templates"`
	Trials    columns      `json:"trials"`
	Winner    int          `json:"winner"` // place of its trial; -1: it is not among them
	Ties      []int        `json:"ties"`
	Compared  []bar        `json:"compared"`
	Levels    []bar        `json:"levels"` // the default and the roofline
	Roofline  *roofline    `json:"roofline,omitempty"`
	Statuses  []string     `json:"statuses"`

	thinned string // in words; "": all trials are there
}

// parameters are a template's tunables and the values that its trials have.
type parameters struct {
	Name     string    `json:"name"`
	Tunables []tunable `json:"tunables"`
}

type tunable struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// columns have an entry a trial, in the order of the search.
type columns struct {
	At       []int     `json:"at"` // how many trials were before it, and 1
	Template []int     `json:"template"`
	Ended    []int     `json:"status"`
	MS       []float64 `json:"ms"` // 0: it has no time
	Low      []float64 `json:"low"`
	High     []float64 `json:"high"`
	Seconds  []float64 `json:"seconds,omitempty"` // since the first; none: not known
	Values   [][]int   `json:"values"`            // places among the template's
}

// bar is a time with a name. The winner's has an interval.
type bar struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	Text string  `json:"text"`
}

// roofline is what the problem takes at least.
type roofline struct {
	Bytes  float64 `json:"bytes"`
	Flops  float64 `json:"flops"`
	Copy   float64 `json:"copy"`    // bytes a second
	CopyMS float64 `json:"copy_ms"` // what a copy takes
	Peaks  []peak  `json:"peaks"`
}

// peak is what the device reached in a kind of work.
type peak struct {
	Name string  `json:"name"`
	Rate float64 `json:"rate"` // bytes or operations a second
	Flat bool    `json:"flat"` // of operations
}

// A page shows all of up to mostShown trials. Of more it shows the fastest, a quarter, and others evenly. A page of many searches shows fewer of each.
const (
	mostShown  = 4000
	leastShown = 200
	mostInPage = 5 * mostShown
)

// shownOf is how many trials a page of several searches shows of each.
func shownOf(searches int) int {
	return min(mostShown, max(leastShown, mostInPage/max(1, searches)))
}

// dataOf lays out a search, with about most trials.
func dataOf(s Search, most int) data {
	b := s.Best
	texts := reports.TextsOf(b, s.Details)
	d := data{
		Unit: texts.Unit, Winner: -1, Templates: []parameters{}, Ties: []int{}, Compared: []bar{}, Levels: []bar{},
	}
	for _, status := range trial.Statuses {
		d.Statuses = append(d.Statuses, string(status))
	}
	for i, c := range texts.Compared {
		one := bar{Name: c.Name, MS: c.MS, Text: c.Time}
		if i == 0 {
			one.Low, one.High = b.Time.CI95[0], b.Time.CI95[1]
		}
		d.Compared = append(d.Compared, one)
		if c.Level {
			d.Levels = append(d.Levels, one)
		}
	}
	if r := b.Roofline; r.FloorMS > 0 && r.Flops > 0 && r.Bytes > 0 {
		d.Roofline = &roofline{float64(r.Bytes), float64(r.Flops), r.CopyBandwidth, r.FloorMS, []peak{}}
		for _, n := range device.PeakNames {
			if rate := r.Peaks[n.Kind]; rate > 0 {
				d.Roofline.Peaks = append(d.Roofline.Peaks, peak{n.Name, rate, n.Kind != device.PeakL2})
			}
		}
	}
	shown := thin(s.Trials, most)
	if len(shown) < len(s.Trials) {
		d.thinned = fmt.Sprintf("Of %d trials the charts show %d: all that were the best so far, "+
			"the %d fastest, and others evenly.", len(s.Trials), len(shown), most/4)
	}
	d.addTrials(s.Trials, shown, b)
	return d
}

// thin gives the places of the trials that are shown, in order.
func thin(trials []trial.Trial, most int) []int {
	all := lists.Places(len(trials))
	if len(trials) <= most {
		return all
	}
	keep := map[int]bool{}
	best := math.Inf(1)
	var right []int
	for i, t := range trials {
		if t.Status != trial.OK {
			continue
		}
		right = append(right, i)
		if t.Time.Median < best {
			best, keep[i] = t.Time.Median, true
		}
	}
	slices.SortStableFunc(right, func(a, b int) int { return cmp.Compare(trials[a].Time.Median, trials[b].Time.Median) })
	for _, i := range right[:min(len(right), most/4)] {
		keep[i] = true
	}
	// Multiplied by the golden ratio, places spread evenly, and follow no period of the search's.
	share := uint32(float64(most-most/4) / float64(len(trials)) * math.MaxUint32)
	return slices.DeleteFunc(all, func(i int) bool { return !keep[i] && uint32(i)*2654435769 > share })
}

// addTrials adds the columns, and the templates and values that occur in them.
func (d *data) addTrials(trials []trial.Trial, shown []int, b bestconfig.Document) {
	tied := map[string]bool{}
	for _, c := range b.Ties {
		tied[c.Key()] = true
	}
	timed := len(shown) > 0
	places := map[string]int{} // of templates
	for _, i := range shown {
		t := trials[i]
		timed = timed && !t.At.IsZero()
		if _, known := places[t.Template]; !known {
			places[t.Template] = len(d.Templates)
			d.Templates = append(d.Templates, parameters{Name: t.Template, Tunables: []tunable{}})
		}
		d.Templates[places[t.Template]].add(t.Values)
	}
	for _, p := range d.Templates {
		for _, t := range p.Tunables {
			slices.SortStableFunc(t.Values, natural)
		}
	}
	c := &d.Trials
	*c = columns{At: []int{}, Template: []int{}, Ended: []int{}, MS: []float64{}, Low: []float64{}, High: []float64{},
		Values: [][]int{}}
	for at, i := range shown {
		t := trials[i]
		switch key := t.Key(); {
		case d.Winner < 0 && b.Found() && key == b.Key():
			d.Winner = at
		case tied[key] && key != b.Key():
			d.Ties = append(d.Ties, at)
			tied[key] = false
		}
		c.At = append(c.At, i+1)
		c.Template = append(c.Template, places[t.Template])
		c.Ended = append(c.Ended, max(0, slices.Index(trial.Statuses, t.Status)))
		c.MS = append(c.MS, brief(t.Time.Median))
		c.Low, c.High = append(c.Low, brief(t.Time.CI95[0])), append(c.High, brief(t.Time.CI95[1]))
		if timed {
			c.Seconds = append(c.Seconds, math.Round(t.At.Sub(trials[0].At).Seconds()*1e3)/1e3)
		}
		c.Values = append(c.Values, d.Templates[places[t.Template]].places(t.Values))
	}
	for i := range d.Templates {
		d.Templates[i].harmless()
	}
}

// add adds the tunables and values of a trial that are new.
func (p *parameters) add(values space.Values) {
	for _, v := range values {
		at := slices.IndexFunc(p.Tunables, func(t tunable) bool { return t.Name == v.Name })
		if at < 0 {
			at = len(p.Tunables)
			p.Tunables = append(p.Tunables, tunable{Name: v.Name})
		}
		if t := &p.Tunables[at]; !slices.Contains(t.Values, v.Value.String()) {
			t.Values = append(t.Values, v.Value.String())
		}
	}
}

// places says where a trial's values stand among the template's; -1: the trial has none.
func (p *parameters) places(values space.Values) []int {
	return lists.Of(p.Tunables, func(t tunable) int {
		v, has := values.Get(t.Name)
		if !has {
			return -1
		}
		return slices.Index(t.Values, v.String())
	})
}

// harmless makes each name and value a single line without control characters.
func (p *parameters) harmless() {
	p.Name = output.Line(p.Name)
	for i := range p.Tunables {
		t := &p.Tunables[i]
		t.Name, t.Values = output.Line(t.Name), lists.Of(t.Values, output.Line)
	}
}

// natural compares two values as a reader would: numbers by size, before words.
func natural(a, b string) int {
	x, y := math.Inf(1), math.Inf(1)
	fmt.Sscanf(a, "%g", &x)
	fmt.Sscanf(b, "%g", &y)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
}

// brief is a time with the digits that a chart can show; 0 where there is none that is finite.
func brief(ms float64) float64 {
	if !(ms > 0) || math.IsInf(ms, 0) {
		return 0
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(ms, 'g', 5, 64), 64)
	return rounded
}
