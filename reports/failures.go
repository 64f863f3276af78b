package reports

import (
	"regexp"
	"slices"
	"strings"

	"autotune/device/trial"
	"autotune/internal/lists"
)

// Failure describes the trials that failed with one status, and the commonest reason among them.
type Failure struct {
	Status trial.Status
	Count  int
	Reason string // the first line of the message
	Alike  int    // trials with this reason, ignoring numbers in it
	Config string // the configuration of one such trial, for --config
	Show   string // the command that shows this trial, if any can
}

// FailuresOf lists the statuses of trials that failed. verify is the beginning of the command that checks one variant,
// or "" if no command can run it. Trials that were pruned do not count as failed.
func FailuresOf(trials []trial.Trial, verify string) []Failure {
	var list []Failure
	for _, status := range trial.Statuses {
		failed := lists.Where(trials, func(t trial.Trial) bool { return t.Status == status })
		if status == trial.OK || status == trial.Pruned || len(failed) == 0 {
			continue
		}
		f := commonest(failed)
		f.Status, f.Count = status, len(failed)
		if verify != "" {
			f.Show = verify + " --config " + f.Config
		}
		list = append(list, f)
	}
	return list
}

// digits matches the numbers in an error message, which are ignored when messages are compared.
var digits = regexp.MustCompile(`[0-9]+`)

// commonest returns the reason that most of the trials have, and the first such reason if there are several.
func commonest(trials []trial.Trial) Failure {
	kinds := map[string]int{}
	var list []Failure
	for _, t := range trials {
		kind := digits.ReplaceAllString(t.Reason(), "#")
		at, known := kinds[kind]
		if !known {
			at = len(list)
			kinds[kind] = at
			list = append(list, Failure{Reason: t.Reason(), Config: configArgument(t)})
		}
		list[at].Alike++
	}
	return slices.MaxFunc(list, func(a, b Failure) int { return a.Alike - b.Alike })
}

// configArgument writes a trial's configuration as one word of a command line.
func configArgument(t trial.Trial) string {
	words := t.Values.Words()
	if t.Template != "" {
		words = append([]string{"template=" + t.Template}, words...)
	}
	return strings.Join(words, ",")
}
