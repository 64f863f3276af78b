package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/reports"
	"autotune/reports/cudasource"
	"autotune/tuner"
	"autotune/tuner/device"
	"autotune/tuner/device/emulator"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
	"autotune/tuner/store"
	"autotune/tuner/trial"
)

// chosen is the winner that best and export answer with.
type chosen struct {
	best   reports.BestConfig
	kernel *cudasource.Winner // its kernel, seen to be what was measured; nil: not looked for yet
	trials []trial.Trial      // all of the problem, where --all asks for them
}

// chooseWinner finds the winner that the flags mean: in the cache, in a document
// or in a recording.
func chooseWinner(c *cli.Context) (chosen, error) {
	from := c.String("from")
	file, replayed := strings.CutPrefix(from, "replay:")
	switch {
	case from == "":
		return winnerInCache(c)
	case from == "replay":
		return winnerShipped(c)
	case replayed || holdsRecording(from):
		return winnerRecorded(c, file)
	}
	return winnerInDocument(c, from)
}

// asked is the problem that a user asks for.
type asked struct {
	operator *operator.Operator
	request  operator.Request
}

// askedProblem reads the flags that name a problem. One that is wrong on every
// device is refused at once.
func askedProblem(c *cli.Context) (a asked, err error) {
	if a.operator, err = operatorArgument(c); err != nil {
		return a, err
	}
	if a.request, err = problemRequest(c, a.operator); err != nil {
		return a, err
	}
	_, err = a.operator.Bind(a.request, emulator.Limits())
	return a, badInput(err)
}

func (a asked) String() string {
	p, err := a.operator.Bind(a.request, emulator.Limits())
	if err != nil {
		return a.operator.Name
	}
	return p.String()
}

// names tells whether a problem is the one asked for. What `--math auto` means is
// up to the device that it was solved on.
func (a asked) names(p operator.ProblemRecord, d device.Info) bool {
	bound, err := a.operator.Bind(a.request, limitsOf(d))
	return err == nil && bound.String() == p.Text
}

// limitsOf are a device's limits; caches of early versions have none.
func limitsOf(d device.Info) operator.Limits {
	if d.Limits.Arch == 0 {
		return emulator.Limits()
	}
	return d.Limits
}

// called tells whether --device means a device: by its kind, or by part of its name.
func called(d device.Info, name string) bool {
	return name == "auto" || name == "" || name == string(d.Kind) || strings.Contains(strings.ToLower(d.Name), strings.ToLower(name))
}

// winnerInCache takes a GPU's winner before the emulator's, and of those the
// newest that is of the operator as it is today.
func winnerInCache(c *cli.Context) (chosen, error) {
	a, err := askedProblem(c)
	if err != nil {
		return chosen{}, err
	}
	s, err := openStore(c, store.Options{ReadOnly: true, Wait: 5 * time.Second})
	var absent *store.AbsentError
	if errors.As(err, &absent) {
		return chosen{}, withCode(exitNoVariant, fmt.Errorf("%w%s", absent, a.shipped()))
	}
	if err != nil {
		return chosen{}, err
	}
	defer s.Close()
	kept, err := tuner.Winners(s, a.operator.Name)
	if err != nil {
		return chosen{}, err
	}
	candidates, err := a.candidates(kept, c.String("device"))
	if err != nil {
		return chosen{}, withCode(exitNoVariant, err)
	}
	kernel, at, err := a.newest(candidates)
	if err != nil {
		return chosen{}, err
	}
	for _, notice := range a.notices(candidates, at, c.IsSet("device")) {
		fmt.Fprintln(c.App.ErrWriter, "autotune:", notice)
	}
	w := chosen{best: kernel.Best, kernel: &kernel}
	if c.Bool("all") {
		trials, err := candidates[at].Trials(s)
		if err != nil {
			return chosen{}, err
		}
		w.trials, err = currentTrials(c, kernel.Problem, trials)
	}
	return w, err
}

// candidates are the winners of the problem on the devices that are meant, a GPU's
// before the emulator's and else the newest first.
func (a asked) candidates(kept []tuner.KeptWinner, name string) ([]tuner.KeptWinner, error) {
	var wanted []tuner.KeptWinner
	var elsewhere, modes []string
	for _, w := range kept {
		other := a
		other.request.Math = w.Problem.Math
		switch {
		case a.names(w.Problem, w.Device) && called(w.Device, name):
			wanted = append(wanted, w)
		case a.names(w.Problem, w.Device):
			elsewhere = append(elsewhere, w.Device.Name)
		case other.names(w.Problem, w.Device):
			modes = append(modes, "--math "+w.Problem.Math)
		}
	}
	slices.SortStableFunc(wanted, func(x, y tuner.KeptWinner) int { return cmp.Compare(rank(x), rank(y)) })
	switch {
	case len(wanted) > 0:
		return wanted, nil
	case len(elsewhere) > 0:
		return nil, fmt.Errorf("the cache holds no winner of %s on a device called %s; it holds those of %s", a, name, strings.Join(distinct(elsewhere), ", "))
	case len(modes) > 0:
		return nil, fmt.Errorf("the cache holds no winner of %s; it holds one for %s", a, strings.Join(distinct(modes), ", "))
	}
	return nil, fmt.Errorf("the cache holds no winner of %s; run `autotune search` first (`autotune cache ls` lists what there is)%s", a, a.shipped())
}

// rank puts times of a GPU before those of none.
func rank(w tuner.KeptWinner) int {
	if w.Device.Kind.Properties().Caveat != "" {
		return 1
	}
	return 0
}

func distinct(words []string) []string { return slices.Compact(slices.Sorted(slices.Values(words))) }

// newest is the first of the candidates that is of the operator as it is today.
func (a asked) newest(candidates []tuner.KeptWinner) (cudasource.Winner, int, error) {
	var first error
	for i, w := range candidates {
		kernel, err := cudasource.Of(reports.FromRecord(w.Record), a.operator, limitsOf(w.Device), tool())
		if err == nil {
			return kernel, i, nil
		}
		first = cmp.Or(first, err)
	}
	return cudasource.Winner{}, 0, refusal(fmt.Errorf("the winner of %s in the cache is not of this operator as it is today: %w", a, first))
}

// notices say what a user may not expect of the answer.
func (a asked) notices(candidates []tuner.KeptWinner, at int, named bool) []string {
	var all []string
	if at > 0 {
		all = append(all, fmt.Sprintf("passed over a winner of %s on %s: its kernel was edited since, or is of another operator of this name",
			candidates[0].At.Format(time.DateTime), candidates[0].Device.Name))
	}
	if kind := candidates[at].Device.Kind.Properties(); kind.Caveat != "" && !named {
		all = append(all, "the cache holds no such winner of a GPU; this is one of "+kind.Label+", whose times say nothing about a GPU")
	}
	return all
}

// shipped is a hint at the shipped recording of the problem, if there is one.
func (a asked) shipped() string {
	if _, _, err := recording.FindRequest(recording.Shipped(), a.operator, a.request); err != nil {
		return ""
	}
	return "; a replay keeps nothing, but --from replay takes the winner of the recording that is shipped"
}

// currentTrials lists the trials whose kernels are what they were, and says how
// many others there are.
func currentTrials(c *cli.Context, p *operator.Problem, trials []trial.Trial) ([]trial.Trial, error) {
	current, err := tuner.Current(p, trials)
	if gone := len(trials) - len(current); err == nil && gone > 0 {
		fmt.Fprintf(c.App.ErrWriter, "autotune: %s left out, of kernels that were edited since\n", count(gone, "trial"))
	}
	return current, err
}

// refusal gives the error of a winner that cannot be used its exit code: one of
// an operator that was edited is no winner any more.
func refusal(err error) error {
	if errors.Is(err, cudasource.ErrSearchAgain) {
		return withCode(exitNoVariant, err)
	}
	return badInput(err)
}

func tool() string { return "autotune " + version() }
