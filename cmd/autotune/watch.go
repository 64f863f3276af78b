package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/reports/watch"
	"autotune/reports/webpage"
	"autotune/tuner"
	"autotune/tuner/trial"
)

func watchFlag() cli.Flag {
	return &cli.BoolFlag{Name: "watch", Usage: "serve the web page of what is found meanwhile, on a port of this machine alone; the address is printed once"}
}

// watched is the content of the page that --watch serves while searches run. Without --watch it is nil, and its
// methods do nothing.
type watched struct {
	server *watch.Server
	title  string
	began  time.Time

	mu       sync.Mutex
	searches []*followed // the one that changed last at the end
	families []webpage.Family
	step     string // of what the searches are a part of
}

// followed is a search on the page.
type followed struct {
	problem string
	page    webpage.Search
	status  string // "": it has ended
}

// A page follows so many searches at most, the last ones. A search that goes on is looked at so often.
const (
	mostFollowed = 6
	followEvery  = time.Second
)

// watchOf begins to serve the page, if that is asked for.
func watchOf(c *cli.Context) (*watched, error) {
	if !c.Bool("watch") {
		return nil, nil
	}
	w := &watched{title: strings.TrimSpace("autotune " + c.Command.Name + " " + c.Args().First()), began: time.Now()}
	var err error
	if w.server, err = watch.Serve(w.page); err != nil {
		return nil, fmt.Errorf("--watch: %w", err)
	}
	say(os.Stderr, "autotune: watch it at "+w.server.Address())
	return w, nil
}

func (w *watched) close() error {
	if w == nil {
		return nil
	}
	return w.server.Close()
}

// observer takes note of how a search goes, or of how several go that follow each other.
func (w *watched) observer() func(tuner.Progress) {
	if w == nil {
		return func(tuner.Progress) {}
	}
	var looks rarely
	var phase tuner.Phase
	var before string
	look := func(p tuner.Progress) {
		r := p.SoFar()
		w.mu.Lock()
		defer w.mu.Unlock()
		if before != r.Record.Problem.Text {
			w.ended(before)
			before = r.Record.Problem.Text
		}
		w.follow(followed{
			problem: before, status: string(p.Phase) + ", " + strings.ReplaceAll(summary(p), "  ", ", "),
			page: webpage.Search{Best: reports.FromRecord(r.Record), Trials: r.Trials, Details: reports.Details{Failures: reports.FailuresOf(r.Trials, "")}},
		})
	}
	return func(p tuner.Progress) {
		if p.Phase != phase {
			phase, looks = p.Phase, rarely{}
		}
		looks.do(followEvery, func() { look(p) })
	}
}

// follow puts a search at the end of those that are followed.
func (w *watched) follow(f followed) {
	w.searches = slices.DeleteFunc(w.searches, func(known *followed) bool { return known.problem == f.problem })
	w.searches = append(w.searches, &f)
	w.searches = w.searches[max(0, len(w.searches)-mostFollowed):]
}

// ended notes that a search no longer runs.
func (w *watched) ended(problem string) {
	for _, f := range w.searches {
		if f.problem == problem {
			f.status = ""
		}
	}
}

// found takes note of a search that has ended, as its page tells of it.
func (w *watched) found(page webpage.Search) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.follow(followed{problem: page.Best.Problem.Text, page: page})
}

// did takes note of a step of a family.
func (w *watched) did(step string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step = step
}

// foundFamily takes note of a family that was found.
func (w *watched) foundFamily(f webpage.Family) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.searches {
		f.status = ""
	}
	w.families = append(w.families, f)
}

// page is what there is to tell now, what changed last first.
func (w *watched) page() webpage.Page {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := webpage.Page{Title: w.title, Families: slices.Clone(w.families), Live: &webpage.Live{}}
	var status []string
	if w.step != "" {
		status = append(status, w.step)
	}
	for _, f := range slices.Backward(w.searches) {
		p.Searches = append(p.Searches, f.page)
		if f.status != "" {
			status = append(status, f.problem+": "+f.status)
			p.Live.Workers = append(p.Live.Workers, workersOf(f.page.Trials)...)
		}
	}
	p.Live.Status = cmp.Or(strings.Join(status, "; "), "it has ended")
	if len(w.searches) == 0 && w.step == "" {
		p.Live.Status = fmt.Sprintf("it begins: the device and its compilers, %.0f s", time.Since(w.began).Seconds())
	}
	return p
}

// workersOf says what each worker did in a search; nil if there is one device.
func workersOf(trials []trial.Trial) (all []webpage.Worker) {
	began := map[string]time.Time{}
	for _, t := range trials {
		if t.Worker == "" {
			continue
		}
		at := slices.IndexFunc(all, func(w webpage.Worker) bool { return w.Name == t.Worker })
		if at < 0 {
			at = len(all)
			all = append(all, webpage.Worker{Name: t.Worker})
			began[t.Worker] = t.At
		}
		w := &all[at]
		w.Trials++
		if took := t.At.Sub(began[t.Worker]).Seconds(); took > 0 {
			w.Rate = fmt.Sprintf("%.1f", float64(w.Trials-1)/took)
		}
		if t.ControlMS > 0 {
			w.Control = reports.FormatMS(t.ControlMS)
		}
		w.Last = string(t.Status) + " " + output.Line(t.Configuration.String())
	}
	slices.SortFunc(all, func(a, b webpage.Worker) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// watchedProgress is a progress that a page follows, too.
type watchedProgress struct {
	progress
	observe func(tuner.Progress)
}

func (p watchedProgress) update(now tuner.Progress) {
	p.progress.update(now)
	p.observe(now)
}
