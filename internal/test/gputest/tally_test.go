package gputest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
)

// tally counts the tested problems and variants of each operator and template.
type tally struct {
	mu        sync.Mutex
	templates map[string]*templateTally // by "operator template"
	verifying time.Duration             // of the device, the little timing included
}

// templateTally counts the results of one template.
type templateTally struct {
	problems map[string]bool
	variants map[string]bool // of a problem
	results  map[trial.Status]int
}

func (y *tally) variant(p *operator.Problem, c space.Configuration, o trial.Outcome) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.templates == nil {
		y.templates = map[string]*templateTally{}
	}
	name, problem := p.Operator.Name+" "+c.Template, p.String()
	one := y.templates[name]
	if one == nil {
		one = &templateTally{map[string]bool{}, map[string]bool{}, map[trial.Status]int{}}
		y.templates[name] = one
	}
	one.problems[problem] = true
	one.variants[problem+" "+c.Key()] = true
	one.results[o.Status]++
	y.verifying += time.Duration((o.Phases.VerifyMS + o.Phases.MeasureMS) * float64(time.Millisecond))
}

func (y *tally) String() string {
	var b strings.Builder
	variants, runs, failed := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(y.templates)) {
		one := y.templates[name]
		fmt.Fprintf(&b, "%s: %d problems, %d variants;", name, len(one.problems), len(one.variants))
		for _, status := range slices.Sorted(maps.Keys(one.results)) {
			fmt.Fprintf(&b, " %d %s", one.results[status], status)
			runs += one.results[status]
			if status != trial.OK && status != trial.Pruned {
				failed += one.results[status]
			}
		}
		variants += len(one.variants)
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d variants, verified %d times in %v, %d failures", variants, runs, y.verifying.Round(time.Second), failed)
	return b.String()
}
