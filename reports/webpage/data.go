package webpage

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
	Unit      unit         `json:"unit"`
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

// unit is that of all times. Times themselves are milliseconds.
type unit struct {
	Name  string  `json:"name"`
	PerMS float64 `json:"per_ms"`
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

// Of so many trials a page shows all. Of more it shows the fastest, a quarter, and others
// evenly. A page of many searches shows fewer of each.
const (
	mostShown  = 4000
	leastShown = 200
	mostInPage = 5 * mostShown
)

// shownOf is how many trials a page of so many searches shows of each.
func shownOf(searches int) int {
	return min(mostShown, max(leastShown, mostInPage/max(1, searches)))
}

// dataOf lays out a search, with so many trials at most, or few more.
func dataOf(s Search, most int) data {
	b := s.Best
	texts := reports.TextsOf(b, s.Details)
	d := data{
		Unit: unit(texts.Unit), Winner: -1, Templates: []parameters{}, Ties: []int{}, Compared: []bar{}, Levels: []bar{},
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
		d.thinned = fmt.Sprintf("Of %d trials the charts show %d: all that were the best so far, the %d fastest, and others evenly.",
			len(s.Trials), len(shown), most/4)
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
	places := map[string]int{}
	timed := len(shown) > 0
	for _, i := range shown {
		timed = timed && !trials[i].At.IsZero()
	}
	c := &d.Trials
	*c = columns{At: []int{}, Template: []int{}, Ended: []int{}, MS: []float64{}, Low: []float64{}, High: []float64{}, Values: [][]int{}}
	for at, i := range shown {
		t := trials[i]
		place, known := places[t.Template]
		if !known {
			place = len(d.Templates)
			places[t.Template] = place
			d.Templates = append(d.Templates, parameters{Name: output.Line(t.Template), Tunables: []tunable{}})
		}
		switch key := t.Key(); {
		case d.Winner < 0 && b.Found() && key == b.Key():
			d.Winner = at
		case tied[key] && key != b.Key():
			d.Ties = append(d.Ties, at)
			tied[key] = false
		}
		c.At = append(c.At, i+1)
		c.Template = append(c.Template, place)
		c.Ended = append(c.Ended, max(0, slices.Index(trial.Statuses, t.Status)))
		c.MS, c.Low, c.High = append(c.MS, brief(t.Time.Median)), append(c.Low, brief(t.Time.CI95[0])), append(c.High, brief(t.Time.CI95[1]))
		if timed {
			c.Seconds = append(c.Seconds, math.Round(t.At.Sub(trials[0].At).Seconds()*1e3)/1e3)
		}
		c.Values = append(c.Values, d.Templates[place].places(t.Values))
	}
	for i := range d.Templates {
		d.Templates[i].sort(c, i)
	}
}

// places are those of a trial's values among the template's, -1 where it has none.
func (p *parameters) places(values space.Values) []int {
	for _, v := range values {
		if !slices.ContainsFunc(p.Tunables, func(t tunable) bool { return t.Name == v.Name }) {
			p.Tunables = append(p.Tunables, tunable{Name: v.Name})
		}
	}
	list := make([]int, len(p.Tunables))
	for i := range p.Tunables {
		t := &p.Tunables[i]
		v, has := values.Get(t.Name)
		if !has {
			list[i] = -1
			continue
		}
		text := v.String()
		if list[i] = slices.Index(t.Values, text); list[i] < 0 {
			list[i] = len(t.Values)
			t.Values = append(t.Values, text)
		}
	}
	return list
}

// sort puts the values of a template in order, numbers by size, and its trials' places with them.
func (p *parameters) sort(c *columns, template int) {
	for i := range p.Tunables {
		t := &p.Tunables[i]
		order := lists.Places(len(t.Values))
		slices.SortStableFunc(order, func(a, b int) int { return natural(t.Values[a], t.Values[b]) })
		to := make([]int, len(order))
		sorted := make([]string, len(order))
		for place, from := range order {
			to[from], sorted[place] = place, output.Line(t.Values[from])
		}
		t.Values, t.Name = sorted, output.Line(t.Name)
		for at, values := range c.Values {
			if c.Template[at] == template && i < len(values) && values[i] >= 0 {
				values[i] = to[values[i]]
			}
		}
	}
}

// natural compares two values as a reader would: numbers by size, before words.
func natural(a, b string) int {
	var x, y float64
	_, errX := fmt.Sscanf(a, "%g", &x)
	_, errY := fmt.Sscanf(b, "%g", &y)
	switch {
	case errX == nil && errY == nil:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// brief is a time with the digits that a chart can show; 0 where there is none that is finite.
func brief(ms float64) float64 {
	if !(ms > 0) || math.IsInf(ms, 0) {
		return 0
	}
	scale := math.Pow(10, 5-math.Ceil(math.Log10(ms)))
	if rounded := math.Round(ms*scale) / scale; !math.IsInf(scale, 0) && !math.IsNaN(rounded) {
		return rounded
	}
	return ms
}

func sortBy[T any](list []T, key func(T) float64) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}
