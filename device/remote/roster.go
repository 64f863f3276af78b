package remote

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"autotune/device"
)

// Roster knows the workers of a pool by their signs of life: which of them are like the
// first, which take jobs, and what a person should know about the others.
type Roster struct {
	GPU  string        // part of the name that the devices must have; "": any
	Gone time.Duration // how long a worker may be silent and still be there; 0: for ever
	// Connection tells whether signs of life can come, and why they never will again; nil:
	// they always can.
	Connection func() (up bool, lost error)
	Say        func(string) // is called with what a person should know

	mu    sync.Mutex
	model Beat // of the worker that all must be like; no Group: none yet
	all   map[string]seen
	told  map[string]string // what was said of a worker last
	blind time.Time         // when there was last no connection
}

// seen is a worker's last sign of life, and when it came.
type seen struct {
	Beat
	at time.Time
}

// present are the workers of the model that are there.
type present struct {
	there map[string]int // how many compilations each is good for at once
	names []string       // of those that take jobs, in order
	blind bool           // there is no connection to any
	lost  error          // and never will be: why
}

// mostNamed is how many workers a message names.
const mostNamed = 8

func (r *Roster) Meet(b Beat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all, r.told = map[string]seen{}, map[string]string{}
	}
	r.all[b.Worker] = seen{b, time.Now()}
	if r.model.Group != "" {
		r.tell(b)
	}
}

// Choose takes the first usable worker, by name, as the model, unless there is one.
func (r *Roster) Choose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.model.Group != "" {
		return
	}
	names := slices.Sorted(maps.Keys(r.all))
	at := slices.IndexFunc(names, func(name string) bool {
		s := r.all[name]
		return s.State == Ready && strings.Contains(strings.ToLower(s.Device.Name), strings.ToLower(r.GPU))
	})
	if at >= 0 {
		r.model = r.all[names[at]].Beat
		for _, name := range names {
			r.tell(r.all[name].Beat)
		}
	}
}

func (r *Roster) Model() Beat {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.model
}

func (r *Roster) None() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var others []string
	for i, name := range slices.Sorted(maps.Keys(r.all)) {
		if i == mostNamed {
			others = append(others, fmt.Sprintf("and %d more", len(r.all)-i))
			break
		}
		s := r.all[name]
		about := name + " has " + s.Device.Name
		if s.State != Ready {
			about += strings.TrimSuffix(", "+string(s.State)+": "+s.Why, ": ")
		}
		others = append(others, about)
	}
	text := "there is no worker at the server; start one with `autotune worker --nats URL`"
	if len(others) > 0 {
		text = "no worker can be used: " + strings.Join(others, "; ")
		if r.GPU != "" {
			text = fmt.Sprintf("no worker with %q can be used: %s", r.GPU, strings.Join(others, "; "))
		}
	}
	return fmt.Errorf("%s: %w", text, device.ErrNone)
}

// tell says once why a worker is left out.
func (r *Roster) tell(b Beat) {
	text := ""
	switch {
	case b.Group != r.model.Group && b.State != Left:
		text = fmt.Sprintf("worker %s is left out: %s", b.Worker, unlike(b, r.model))
	case b.Group != r.model.Group:
	case b.State == Aside:
		text = fmt.Sprintf("worker %s is set aside: %s", b.Worker, b.Why)
	case b.State == Left && b.Why != "":
		text = fmt.Sprintf("worker %s has ended: %s", b.Worker, b.Why)
	case r.told[b.Worker] != "":
		text = fmt.Sprintf("worker %s takes jobs again", b.Worker)
	}
	if text != "" && text != r.told[b.Worker] {
		r.Say(text)
		r.told[b.Worker] = text
	}
}

// now lists who is there. Without a connection no sign of life can come; when it is back, the
// workers' time begins anew.
func (r *Roster) now() present {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := present{there: map[string]int{}}
	if r.Connection != nil {
		var up bool
		up, p.lost = r.Connection()
		p.blind = !up
	}
	if p.blind {
		r.blind = time.Now()
	}
	for name, s := range r.all {
		silent := r.Gone > 0 && min(time.Since(s.at), time.Since(r.blind)) >= r.Gone
		if s.Group != r.model.Group || s.State == Left || silent {
			continue
		}
		p.there[name] = s.Compilers
		if s.State == Ready && !p.blind {
			p.names = append(p.names, name)
		}
	}
	slices.Sort(p.names)
	p.names = p.names[:min(len(p.names), device.MostWorkers)]
	return p
}

func (r *Roster) Names() []string { return slices.Clone(r.now().names) }

// Compilers is how many compilations are worth having at once at each worker.
func (r *Roster) Compilers() map[string]int { return r.now().there }

// Watch returns a function to be called now and then, which tells that nobody is left to answer: no
// worker has been ready for so long, or the only one that may answer is gone.
func (r *Roster) Watch(only string, patience time.Duration) func() error {
	gone := time.Time{}
	return func() error {
		p := r.now()
		_, there := p.there[only]
		switch {
		case p.lost != nil:
			return fmt.Errorf("%w: %w", p.lost, device.ErrGone)
		case only != "" && !there:
			return fmt.Errorf("worker %s%s: %w", only, r.lastWords(), device.ErrGone)
		case only != "" || len(p.names) > 0 || p.blind:
			gone = time.Time{}
		case gone.IsZero():
			gone = time.Now()
		case time.Since(gone) > patience:
			return fmt.Errorf("no worker has been there for %s%s: %w", patience, r.lastWords(), device.ErrGone)
		}
		return nil
	}
}

func (r *Roster) lastWords() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(r.all)) {
		if s := r.all[name]; s.Group == r.model.Group && s.State != Ready && s.Why != "" {
			return fmt.Sprintf("; worker %s: %s", name, s.Why)
		}
	}
	return ""
}

func (r *Roster) Summary() string {
	names := r.Names()
	text := fmt.Sprintf("%d workers with %s", len(names), r.Model().Device.Name)
	if len(names) == 1 {
		text = "1 worker with " + r.Model().Device.Name
	}
	text += ": " + strings.Join(names[:min(len(names), mostNamed)], ", ")
	if len(names) > mostNamed {
		text += ", ..."
	}
	return text
}
