package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

func recheckCommand() *cli.Command {
	return &cli.Command{
		Name:      "recheck",
		Usage:     "verify and time the cache's winners again, against their runners-up and the default",
		ArgsUsage: "[OPERATOR]",
		Description: "Takes the winners that were found on the device that --device names: OPERATOR's, or those of all built-in operators. " +
			"Each is timed as it was then; --l2 and --launch choose those that were timed so. " +
			"The exit code is 1 if a winner lost by more than its interval, or is wrong. With --ci each is timed against itself instead, " +
			"which tells this machine's noise. The exit code is then 1 if one is wrong or slower than recorded beyond that noise, and the cache stays as it is.",
		Flags: slices.Concat(conditionFlags(), []cli.Flag{deviceFlag(), cacheFlag(), jsonFlag(),
			quietFlag()}, ciFlags("")),
		Action: recheckAction,
	}
}

// rechecked is what became of a winner.
type rechecked struct {
	Problem    string               `json:"problem"`
	Device     string               `json:"device"`
	Conditions device.Conditions    `json:"conditions,omitzero"`
	Verdict    string               `json:"verdict"` // holds, ties, lost, slower, or a status
	Message    string               `json:"message,omitempty"`
	WasMS      float64              `json:"was_ms"`
	NowMS      float64              `json:"now_ms,omitempty"` // the old winner's
	Noise      float64              `json:"noise,omitempty"`  // relative, of a time beside an earlier one; with --ci
	Winner     *bestconfig.Document `json:"winner,omitempty"` // that there is now
}

func (r rechecked) lost() bool { return r.Verdict != "holds" && r.Verdict != "ties" }

func recheckAction(c *cli.Context) error {
	if err := distinctReports(c); err != nil {
		return err
	}
	operators, err := operatorsToRecheck(c)
	if err != nil {
		return err
	}
	conditions, err := conditionsOf(c)
	if err != nil {
		return err
	}
	s, err := openStore(c, store.Options{Wait: 5 * time.Second, ReadOnly: c.Bool("ci")})
	if err != nil {
		return err
	}
	defer s.Close()
	opener, err := deviceOpener(c, devices.Options{Runs: true})
	if err != nil {
		return err
	}
	defer opener.Close()
	list := []rechecked{}
	for _, op := range operators {
		kept, err := winners.List(s, op.Name)
		if err != nil {
			return err
		}
		for _, w := range newestOfEach(kept) {
			if conditionsAsked(c) && w.Protocol.Conditions != conditions {
				continue
			}
			opened, err := openForRecheck(c, opener, op, w)
			if err != nil {
				return err
			}
			if opened == nil {
				continue
			}
			r, err := recheckKept(c, opened, w, s)
			if err != nil {
				return err
			}
			list = append(list, r)
		}
	}
	if err := writeDocument(c, list, recheckedText(list)); err != nil {
		return err
	}
	var proofs []reports.Proof
	for _, r := range list {
		p := r.proof(r.Device)
		p.Failed = r.lost()
		proofs = append(proofs, p)
	}
	if err := writeProofs(c, "autotune recheck", proofs); err != nil {
		return err
	}
	if c.Bool("ci") && len(list) == 0 {
		return withCode(exitNoVariant, errNothingProven)
	}
	if n := len(slices.DeleteFunc(slices.Clone(list), func(r rechecked) bool { return !r.lost() })); n > 0 {
		return withCode(exitNoVariant, fmt.Errorf("%s no longer what it was", output.Count(n, "winner")))
	}
	return nil
}

func operatorsToRecheck(c *cli.Context) ([]*operator.Operator, error) {
	if c.NArg() == 0 {
		return operator.Operators()
	}
	op, err := operatorArgument(c)
	return []*operator.Operator{op}, err
}

// newestOfEach keeps the newest winner of each problem on each device.
func newestOfEach(kept []winners.Kept) []winners.Kept {
	seen := map[[4]string]bool{}
	return slices.DeleteFunc(kept, func(w winners.Kept) bool {
		key := [4]string{w.Problem.Text, w.Device.Name, w.Protocol.Conditions.Flags(), w.Objective}
		again := seen[key]
		seen[key] = true
		return again
	})
}

// openForRecheck opens the device for a winner's problem; nil if the winner is of another
// device than is at hand, or was not found by its time.
func openForRecheck(c *cli.Context, opener *devices.Opener, op *operator.Operator, w winners.Kept) (*devices.Opened, error) {
	if w.Objective != "" {
		fmt.Fprintf(os.Stderr, "autotune: %s was found by %s, not by the time: left out\n", w.Problem.Text, w.Objective)
		return nil, nil
	}
	opened, err := opener.Open(c.Context, op, w.Problem.Request())
	if err != nil {
		return nil, err
	}
	if here := opened.Device.Info(); here.Name != w.Device.Name || here.Kind != w.Device.Kind {
		fmt.Fprintf(os.Stderr, "autotune: %s was found on %s: left out\n", w.Problem.Text, w.Device.Name)
		return nil, nil
	}
	return opened, nil
}

// recheckKept rechecks a winner of a cache, or proves it.
func recheckKept(c *cli.Context, opened *devices.Opened, w winners.Kept, s *store.Store) (rechecked, error) {
	if !c.Bool("ci") {
		r, _, err := recheck(c, opened, w, tuner.Options{Store: s})
		return r, err
	}
	r := recheckOf(w)
	return r, r.prove(c, opened, w)
}

// recheckOf is what is known of a winner before it is rechecked.
func recheckOf(w winners.Kept) rechecked {
	return rechecked{Problem: w.Problem.Text, Device: w.Device.Name, Conditions: w.Protocol.Conditions, WasMS: w.Winner.Time.Median}
}

// recheck verifies and times a winner again, and puts what is the fastest now through the
// gates. The winner is a cache's, whose store the options name, or a pack's entry's, which
// the options give.
func recheck(c *cli.Context, opened *devices.Opened, w winners.Kept, o tuner.Options) (rechecked, *tuner.Result, error) {
	r := recheckOf(w)
	o.Recheck, o.Conditions = true, w.Protocol.Conditions
	result, err := searchShown(c.Context, c, opened, o)
	if result == nil || err != nil && !errors.Is(err, tuner.ErrNoVariant) {
		return r, nil, err
	}
	if result.Stop == tuner.Interrupted {
		return r, nil, withCode(exitInterrupted, errors.New("interrupted"))
	}
	r.judge(w, result)
	return r, result, nil
}

// judge compares the winner with what there is now.
func (r *rechecked) judge(w winners.Kept, result *tuner.Result) {
	key := w.Winner.Key()
	at := slices.IndexFunc(result.Trials, func(t trial.Trial) bool { return t.Key() == key })
	if result.Winner != nil {
		best := bestconfig.FromRecord(result.Record)
		r.Winner = &best
	}
	if at < 0 || result.Trials[at].KernelDigest != w.Winner.KernelDigest {
		r.Verdict, r.Message = "lost", edited
		return
	}
	old := result.Trials[at]
	r.NowMS = old.Time.Median
	switch {
	case old.Status != trial.OK:
		r.Verdict, r.Message = string(old.Status), old.Reason()
	case result.Winner.Key() == key:
		r.Verdict = "holds"
	case old.Time.Reaches(result.Winner.Time):
		r.Verdict, r.Message = "ties", "with "+result.Winner.Configuration.String()
	default:
		r.Verdict, r.Message = "lost", "to "+result.Winner.Configuration.String()
	}
}

func recheckedText(list []rechecked) string {
	text := ""
	for _, r := range list {
		change := ""
		if r.NowMS > 0 {
			change = fmt.Sprintf(", now %.4g ms (%+.1f %%)", r.NowMS, 100*(r.NowMS/r.WasMS-1))
		}
		timed := ""
		if unusual := r.Conditions.Unusual(); unusual != "" {
			timed = " (" + unusual + ")"
		}
		text += fmt.Sprintf("%-6s %s%s: was %.4g ms%s\n", r.Verdict, r.Problem, timed, r.WasMS, change)
		if r.Message != "" {
			text += "       " + r.Message + "\n"
		}
	}
	return cmp.Or(text, "the cache has no winner to check on this device\n")
}
