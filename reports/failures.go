package reports

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/tuner/trial"
)

// Failure is how trials failed: a status with its commonest reason.
type Failure struct {
	Status trial.Status
	Count  int
	Reason string // the first line of the message
	Alike  int    // trials with this reason, whatever numbers are in it
	Config string // one of them, as `autotune verify --config` takes it
	Show   string // the command that shows it, "" where none can
}

// FailuresOf lists the statuses of trials that failed. verify is the beginning of
// a command that checks one variant, "" where nothing can run it. What was never
// run has not failed.
func FailuresOf(trials []trial.Trial, verify string) []Failure {
	byStatus := map[trial.Status][]trial.Trial{}
	for _, t := range trials {
		if t.Status != trial.OK && t.Status != trial.Pruned {
			byStatus[t.Status] = append(byStatus[t.Status], t)
		}
	}
	var list []Failure
	for _, status := range trial.Statuses {
		if failed := byStatus[status]; len(failed) > 0 {
			f := commonest(failed)
			f.Status, f.Count = status, len(failed)
			if verify != "" {
				f.Show = verify + " --config " + f.Config
			}
			list = append(list, f)
		}
	}
	return list
}

// numbers differ between messages that say the same.
var numbers = regexp.MustCompile(`[0-9]+`)

// commonest is the reason that most of the trials have; of several the first.
func commonest(trials []trial.Trial) Failure {
	kinds := map[string]Failure{}
	first := map[string]int{}
	for i, t := range trials {
		kind := numbers.ReplaceAllString(t.Reason(), "#")
		f, known := kinds[kind]
		if !known {
			f = Failure{Reason: t.Reason(), Config: configArgument(t)}
			first[kind] = i
		}
		f.Alike++
		kinds[kind] = f
	}
	kind := slices.MinFunc(slices.Collect(maps.Keys(kinds)), func(a, b string) int {
		return cmp.Or(kinds[b].Alike-kinds[a].Alike, first[a]-first[b])
	})
	return kinds[kind]
}

// configArgument writes a trial's configuration as one word of a command line.
func configArgument(t trial.Trial) string {
	words := t.Values.Words()
	if t.Template != "" {
		words = append([]string{"template=" + t.Template}, words...)
	}
	return strings.Join(words, ",")
}

// mostReason is how much of a reason is shown.
const mostReason = 300

// failures writes a line a status, and how to see one such variant. The command
// is not wrapped, so that it can be copied.
func (t *table) failures(list []Failure) {
	for i, f := range list {
		label := ""
		if i == 0 {
			t.blank()
			label = "failures"
		}
		text := fmt.Sprintf("%d %s", f.Count, f.Status)
		if f.Alike < f.Count {
			text += fmt.Sprintf(", %d of them", f.Alike)
		}
		if f.Reason != "" {
			text += ": " + middle(f.Reason, mostReason)
		}
		t.text(label, text)
		if f.Show != "" {
			t.line("%-*s%s", labelWidth, "", f.Show)
		}
	}
}
