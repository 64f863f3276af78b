// Package pages says of searches, recordings, documents and families what a web page shows.
package pages

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"autotune/device"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/reports/webpage"
	"autotune/tuner/bestconfig"
	why "autotune/tuner/explain"
	"autotune/tuner/family"
)

// Known is what this machine knows beside a search.
type Known struct {
	Peaks    func(device.Info) device.Peaks // of a device; nil: nobody has measured them
	Operator func(name string) (*operator.Operator, error)
}

// Search is a search on a page. The problem is nil where there are no trials.
func (k Known) Search(ctx context.Context, best bestconfig.Document, trials []trial.Trial, p *operator.Problem,
	d reports.Details) webpage.Search {
	k.AddPeaks(&best)
	s := webpage.Search{Best: best, Trials: trials, Details: d}
	if best.Found() && p != nil {
		s.Why = why.Of(ctx, Subject(best, trials, p))
	}
	return s
}

// AddPeaks adds to a winner's document what this machine knows of its device.
func (k Known) AddPeaks(best *bestconfig.Document) {
	if best.Roofline.Peaks == nil && best.Device.Kind.Properties().Measures {
		best.SetPeaks(k.Peaks(best.Device))
	}
}

// Subject is a winner that is to be explained.
func Subject(best bestconfig.Document, trials []trial.Trial, p *operator.Problem) why.Subject {
	peak, of := best.Peak()
	return why.Subject{
		Peak: peak / 1000, PeakOf: of,
		Winner: best.WinningTrial(), Trials: trials, Problem: p, Limits: p.Limits,
		Bytes: best.Roofline.Bytes, Flops: best.Roofline.Flops, CopyBytesPerMS: best.Roofline.CopyBandwidth / 1000,
	}
}

// Document is the search of a best-config document, which has no trials.
func (k Known) Document(ctx context.Context, best bestconfig.Document) webpage.Search {
	s := k.Search(ctx, best, nil, nil, reports.Details{})
	s.Commands = Commands(best, Named(best.Operator, best.Problem.Request()))
	return s
}

// Recording is the search in a recording, by the operator as it is today.
func (k Known) Recording(ctx context.Context, path string) (s webpage.Search, err error) {
	recorded, err := recording.Load(ctx, path)
	if err != nil {
		return s, err
	}
	m := recorded.Metadata
	op, err := k.Operator(m.Problem.Operator)
	if err != nil {
		return s, fmt.Errorf("%s: %w; an operator of your own is named by its folder, as in: autotune report ./%s --from %s",
			path, err, m.Problem.Operator, path)
	}
	p, err := op.Bind(m.Problem.Request(), m.Device.Limits)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	best, trials, err := bestconfig.FromRecording(recorded, p)
	if err != nil {
		return s, err
	}
	named := Named(op.Name, p.Record().Request())
	s = k.Search(ctx, best, trials, p, reports.Details{Failures: reports.FailuresOf(trials, "")})
	s.Commands = append([]string{fmt.Sprintf("autotune search %s --device %s", named, Quoted("replay:"+path))},
		Commands(best, named)...)
	return s, nil
}

// Commands are the commands that go on from a winner. named is what names its problem.
func Commands(best bestconfig.Document, named string) []string {
	if !best.Found() {
		return nil
	}
	configuration := Quoted("template=" + strings.Join(append([]string{best.Template}, best.Values.Words()...), ","))
	list := []string{"autotune explain " + named, "autotune verify " + named + " --config " + configuration}
	if best.Recording == nil {
		list = append(list, "autotune search "+named+" --target 0", "autotune export "+named+" --format cu -o winner.cu")
	}
	return list
}

// Named names an operator's problem as a command line does.
func Named(operatorName string, r operator.Request) string {
	words := []string{operatorName, "--shape", operator.FormatShape(r.Shape)}
	for _, parameter := range slices.Sorted(maps.Keys(r.Parameters)) {
		words = append(words, "--set", parameter+"="+r.Parameters[parameter])
	}
	if r.Math != "" && r.Math != "auto" {
		words = append(words, "--math", r.Math)
	}
	if len(r.Free) > 0 {
		words = append(words, "--free", strings.Join(r.Free, ","))
	}
	return strings.Join(lists.Of(words, Quoted), " ")
}

// plain is a word that every shell takes as it stands.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./=,:+-]+$`)

// Quoted writes a word as a shell reads it.
func Quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Family is a family of the file at a path on a page. The commands pack it, and search its slowest shape.
func Family(f *family.Family, path string) webpage.Family {
	commands, worst := []string{"autotune pack layers --from " + Quoted(path)}, 0.0
	for _, s := range slices.Concat(f.Samples, f.HeldOut) {
		if s.Slowdown > worst {
			worst = s.Slowdown
			r := operator.ProblemRecord{Shape: s.Shape, Parameters: f.Parameters, Math: f.Math}.Request()
			commands = append(commands[:1], "autotune search "+Named(f.Operator, r))
		}
	}
	return webpage.Family{Family: f, Commands: commands}
}

// Write writes a page, under a title that names what is on it.
func Write(path string, p webpage.Page) error {
	var parts []string
	if n := len(p.Searches); n > 0 {
		parts = append(parts, output.Count(n, "search"))
	}
	if n := len(p.Families); n > 0 {
		parts = append(parts, output.Count(n, "range")+" of shapes")
	}
	p.Title = strings.Join(parts, ", ")
	switch {
	case len(p.Searches) == 1 && len(p.Families) == 0:
		p.Title = reports.TextsOf(p.Searches[0].Best, reports.Details{}).Title
	case len(p.Searches) == 0 && len(p.Families) == 1:
		p.Title = p.Families[0].Operator + " " + p.Families[0].Shapes
	}
	return output.To(path, func(w io.Writer) error { return p.Write(w) })
}

// Explained says why a winner wins.
type Explained struct {
	Problem    string `json:"problem"`
	Device     string `json:"device"`
	MeasuredOn string `json:"measured_on,omitempty"` // the device that timed neighbours; "": none did
	why.Explanation
}

// Text has the sentences, then a row a tunable.
func (e Explained) Text(best bestconfig.Document) string {
	about := reports.TextsOf(best, reports.Details{})
	text := reports.Hang("", about.Title+" "+about.Parameters) + reports.Hang("", about.Setting) +
		reports.Hang("", best.Configuration.String()+": "+about.Time)
	if e.MeasuredOn != "" {
		text += reports.Hang("", "measured now in turns with its neighbours on "+output.Line(e.MeasuredOn)+": "+reports.FormatMS(e.TimeMS))
	}
	text += "\n"
	for _, sentence := range e.Sentences {
		text += reports.Hang("- ", output.Line(sentence))
	}
	if len(e.Tunables) == 0 {
		return text
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tunable\tvalue\tdefault\tchanged alone")
	for _, t := range e.Tunables {
		costs := lists.Of(t.Neighbours, func(n why.Neighbour) string { return n.Value + ": " + n.Cost.String() })
		row := []string{t.Name, t.Value, t.Default, strings.Join(costs, ", ")}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(lists.Of(row, output.Line), "\t"), "\t"))
	}
	w.Flush()
	return text + "\n" + table.String()
}
