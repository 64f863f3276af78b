package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/reports/cudasource"
	"autotune/tuner"
	"autotune/tuner/device"
	"autotune/tuner/device/emulator"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
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
	w, err := winnerMeant(c)
	if err != nil || !conditionsAsked(c) {
		return w, err
	}
	conditions, err := conditionsOf(c)
	if err == nil && w.best.Conditions != conditions {
		err = badInput(fmt.Errorf("%s holds a winner timed with %s, not with %s", c.String("from"), w.best.Conditions, conditions))
	}
	return w, err
}

func winnerMeant(c *cli.Context) (chosen, error) {
	from := c.String("from")
	file, replayed := strings.CutPrefix(from, "replay:")
	kind, _, _ := strings.Cut(c.String("device"), ":")
	switch properties := device.Kind(kind).Properties(); {
	case properties.Kind != "" && !properties.Persists:
		return chosen{}, badInput(fmt.Errorf("--device %s: the cache keeps nothing of %s; --from %[1]s takes the winner from there", c.String("device"), properties.Label))
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
	operator   *operator.Operator
	request    operator.Request
	conditions device.Conditions // of the times in the cache
	objective  tuner.Objective   // of the winner there
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
	if a.conditions, err = conditionsOf(c); err != nil {
		return a, err
	}
	if name := c.String("objective"); name != "" { // a command without the flag means the time
		if a.objective, err = tuner.ParseObjective(a.operator, name); err != nil {
			return a, badInput(err)
		}
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
// up to the device that it was solved on, or to the PyTorch that was there.
func (a asked) names(p operator.ProblemRecord, d device.Info) bool {
	if operator.AutoMath(a.request.Math) && p.MathBy != "" {
		a.request.Math = p.Math
	}
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

// called tells whether --device means a device: by its kind, or by part of its
// name. What may follow the kind, a GPU's number, is not kept of any.
func called(d device.Info, name string) bool {
	kind, _, _ := strings.Cut(name, ":")
	return name == "auto" || name == "" || kind == string(d.Kind) || strings.Contains(strings.ToLower(d.Name), strings.ToLower(name))
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
	current, err := tuner.Current(c.Context, p, trials)
	if gone := len(trials) - len(current); err == nil && gone > 0 {
		fmt.Fprintf(c.App.ErrWriter, "autotune: left out %s of kernels that were edited since, or are not valid any more\n", output.Count(gone, "trial"))
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
