package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/pack"
	"autotune/pack/packer"
	"autotune/reports"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
	"autotune/tuner/devices"
	"autotune/tuner/final"
	"autotune/tuner/strategy"
	"autotune/tuner/winners"
)

// packFlags are those of `check` that mean something for packs alone.
func packFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "device", Value: string(device.CUDA), Usage: "of a pack: the `DEVICE` on which its entries are verified and timed again: cuda, cuda:N, or emulator"},
		&cli.BoolFlag{Name: "update", Usage: "of a pack: search entries that are wrong or lose to the general kernel again, and write them into it"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "of a pack: no progress"},
	}, ciFlags("of a pack: ")...)
}

// isPack tells whether `check` is asked about a pack.
func isPack(path string) bool {
	info, err := os.Stat(filepath.Join(path, pack.ManifestFile))
	return path != "" && err == nil && info.Mode().IsRegular() || strings.EqualFold(filepath.Ext(path), ".zip")
}

// packChecked is what `check PACK --json` writes: the manifest, and what became of the
// entries where there is a GPU.
type packChecked struct {
	pack.Manifest
	Checked []*checkedEntry `json:"checked,omitempty"`
}

// checkedEntry is what became of a pack's entry.
type checkedEntry struct {
	rechecked
	Target    string  `json:"target"`
	GeneralMS float64 `json:"general_ms,omitempty"`

	entry  *pack.Entry
	winner *cudasource.Winner // of an entry; nil: there is no evidence that can be followed
	family *packer.Family     // of a family, likewise
	fault  bool               // it is wrong, slower than the general kernel, or with --ci slower than it was
}

// unproven is the verdict on entries that cannot be tried on this device.
const unproven = "unproven"

// checkPack verifies a pack's files. Where there is a GPU, it verifies and times its entries
// again, too.
func checkPack(c *cli.Context, path string) error {
	if err := distinctReports(c); err != nil {
		return badInput(err)
	}
	p, err := pack.Open(path)
	if err != nil {
		return badInput(err)
	}
	if err := p.Unlisted(); err != nil {
		return badInput(err)
	}
	k := &packCheck{c: c, pack: p}
	for _, name := range c.Args().Tail() {
		op, err := findOperator(name)
		if err != nil {
			return badInput(err)
		}
		k.operators = append(k.operators, op)
	}
	if err := k.loaders(); err != nil {
		return badInput(err)
	}
	if k.opener, err = deviceOpener(c, devices.Options{Runs: true}); err != nil {
		return badInput(err)
	}
	defer k.opener.Close()
	switch err := k.run(); {
	case (errors.Is(err, device.ErrNone) || errors.Is(err, compile.ErrMissing)) && !slices.ContainsFunc([]string{"device", "update", "ci", "junit", "markdown"}, c.IsSet):
		tell([]string{"the entries are listed and not proven again: " + explain(err)})
		return writeDocument(c, packChecked{Manifest: p.Manifest}, k.listing())
	case err != nil:
		return err
	}
	if err := writeDocument(c, packChecked{p.Manifest, k.list}, k.table()); err != nil {
		return err
	}
	if err := writeProofs(c, "autotune check "+path, k.proofs()); err != nil {
		return err
	}
	faults := len(k.faults())
	switch {
	case faults == 0:
		return nil
	case c.Bool("update"):
		return k.update()
	}
	than := "the general kernel"
	if c.Bool("ci") {
		than += " or than it was"
	}
	return withCode(exitNoVariant, fmt.Errorf("%s of %s wrong or slower than %s", output.Count(faults, "entry"), path, than))
}

// loaders refuses a pack whose loaders are not those of its manifest: they would run something else than is checked. It
// tells which of them cannot be compared.
func (k *packCheck) loaders() error {
	p, operators := k.pack, map[string]*operator.Operator{}
	for _, o := range p.Operators {
		if op, err := k.operator(o.Name); err == nil {
			operators[o.Name] = op
		}
	}
	if p.Tool != tool() {
		tell([]string{fmt.Sprintf("the loaders in %s are those of %s, and this is %s, which can say of its own alone whether they do what the manifest says", p.Path, p.Tool, tool())})
		return nil
	}
	foreign, unknown, err := packer.Foreign(p, operators)
	if err != nil {
		return fmt.Errorf("the pack %s: its loaders: %w", p.Path, err)
	}
	if len(foreign) > 0 {
		return fmt.Errorf("the pack %s: %s is not what %s writes for the manifest: it may run something else than what is checked; pack it again", p.Path, foreign[0], tool())
	}
	if len(unknown) > 0 {
		tell([]string{"not compared with the manifest: " + strings.Join(unknown, ", ")})
	}
	return nil
}

// packCheck proves a pack's entries again.
type packCheck struct {
	c      *cli.Context
	pack   *pack.Pack
	opener *devices.Opener
	list   []*checkedEntry
	// operators are those that are not built in.
	operators []*operator.Operator
}

func (k *packCheck) run() error {
	for _, e := range k.pack.Entries {
		one := &checkedEntry{Target: e.Target, entry: e}
		one.Problem, one.Device, one.Verdict = e.Problem, e.Device, unproven
		if e.Time != nil {
			one.WasMS = e.Time.Median
		}
		if err := k.check(one); err != nil {
			return err
		}
		k.list = append(k.list, one)
	}
	for _, f := range k.pack.Families {
		one, err := k.checkFamily(f)
		if err != nil {
			return err
		}
		k.list = append(k.list, one)
	}
	return nil
}

// check proves an entry by its evidence: the operator's kernel as the document has it,
// beside the general kernel, the untuned defaults and those that the winner tied with.
func (k *packCheck) check(e *checkedEntry) error {
	w, op, err := k.winner(e.entry)
	if err != nil {
		e.Message = explain(err)
		return nil
	}
	e.winner = &w
	if of := k.same(e); of != nil { // on the emulator, entries for several architectures are one kernel
		e.rechecked, e.GeneralMS, e.fault = of.rechecked, of.GeneralMS, of.fault
		return nil
	}
	general, why, err := packer.WithGeneral(w.Problem)
	if err != nil {
		return err
	}
	if why == "" {
		op = general
	}
	opened, err := k.opener.Open(k.c.Context, op, w.Best.Problem.Request())
	if err != nil {
		return err
	}
	if here := opened.Device.Info(); here.Kind.Properties().Measures && archOf(e.Target) != here.Limits.Arch {
		e.Message = fmt.Sprintf("it is for %s; %s has sm_%d", e.Target, here.Name, here.Limits.Arch)
		return nil
	}
	first := []space.Configuration{w.Best.Configuration}
	first = append(first, lists.Of(w.Best.Ties, func(tie final.Contender) space.Configuration { return tie.Configuration })...)
	r, result, err := recheck(k.c, opened, winners.OfDocument(w), tuner.Options{First: first})
	if err != nil {
		return err
	}
	if e.rechecked = r; opened.Device.Info().Name != w.Best.Device.Name {
		e.WasMS = 0 // times of two devices are not compared
	}
	if r.Verdict == "ties" || r.Verdict == "lost" { // the gates checked the faster one, not this
		if err := k.gate(e, op); err != nil {
			return err
		}
	}
	e.compare(result, opened.Device.Info().Kind.Properties().Measures)
	if !k.c.Bool("ci") || e.fault {
		return nil
	}
	return e.prove(k.c, opened, winners.OfDocument(w))
}

// prove proves an entry that stands beside the general kernel as a gate for CI does.
func (e *checkedEntry) prove(c *cli.Context, opened *devices.Opened, w winners.Kept) error {
	r := e.rechecked
	if err := r.prove(c, opened, w); err != nil {
		return err
	}
	if e.fault = r.lost(); e.fault {
		e.rechecked = r
	}
	e.Noise = r.Noise
	return nil
}

// gate puts an entry's own variant through the gates.
func (k *packCheck) gate(e *checkedEntry, op *operator.Operator) error {
	opened, err := k.opener.Open(k.c.Context, op, e.winner.Best.Problem.Request())
	if err != nil {
		return err
	}
	o := tuner.Options{
		First: []space.Configuration{e.winner.Best.Configuration}, Gating: final.GateAll,
		Only: operator.Restriction{Templates: []string{e.winner.Best.Template}},
	}
	r, _, err := recheck(k.c, opened, winners.OfDocument(*e.winner), o)
	if err == nil && slices.Contains(trial.Statuses, trial.Status(r.Verdict)) {
		e.Verdict, e.Message = r.Verdict, r.Message
	}
	return err
}

// compare looks at how the entry stands beside the general kernel.
func (e *checkedEntry) compare(result *tuner.Result, measured bool) {
	e.fault = slices.Contains(trial.Statuses, trial.Status(e.Verdict))
	general := result.Default
	if general == nil || general.Template != packer.GeneralTemplate || general.Status != trial.OK {
		return
	}
	e.GeneralMS = general.Time.Median
	key := e.winner.Best.Configuration.Key()
	at := slices.IndexFunc(result.Trials, func(t trial.Trial) bool { return t.Key() == key })
	if !e.fault && measured && at >= 0 && general.Time.Median < result.Trials[at].Time.Median && !result.Trials[at].Time.Reaches(general.Time) {
		e.fault, e.Verdict, e.Message = true, "lost", "to the general kernel"
	}
}

// same is an entry that was proven already with the same kernel, where the device takes all
// architectures for one.
func (k *packCheck) same(e *checkedEntry) *checkedEntry {
	if k.c.String("device") != string(device.Emulator) {
		return nil
	}
	i := slices.IndexFunc(k.list, func(o *checkedEntry) bool {
		return o.winner != nil && o.Problem == e.Problem && o.winner.Kernel.Digest() == e.winner.Kernel.Digest()
	})
	if i < 0 {
		return nil
	}
	return k.list[i]
}

// winner is what an entry's evidence tells, of the operator as it is here today.
func (k *packCheck) winner(e *pack.Entry) (w cudasource.Winner, op *operator.Operator, err error) {
	if len(e.Evidence) == 0 {
		return w, nil, errors.New("the entry has no evidence")
	}
	best, err := bestconfig.Read(bytes.NewReader(e.Evidence))
	if err != nil {
		return w, nil, fmt.Errorf("its evidence: %w", err)
	}
	if op, err = k.operator(best.Operator); err != nil {
		return w, nil, err
	}
	w, err = cudasource.Of(best, op, operator.TypicalLimits(), tool())
	return w, op, err
}

// operator is one of those named, or one that is built in: a pack's word opens no folder.
func (k *packCheck) operator(name string) (*operator.Operator, error) {
	if i := slices.IndexFunc(k.operators, func(o *operator.Operator) bool { return o.Name == name }); i >= 0 {
		return k.operators[i], nil
	}
	return operator.Find(name)
}

// archOf is the number in sm_90a; 0 without one.
func archOf(target string) int {
	n, _ := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(target))
	return n
}

func (k *packCheck) faults() []*checkedEntry {
	return slices.DeleteFunc(slices.Clone(k.list), func(e *checkedEntry) bool { return !e.fault })
}

// listing lists the entries as they were packed.
func (k *packCheck) listing() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "problem\ttarget\tms\t95 %\tdevice")
	for _, e := range k.pack.Entries {
		median, interval := "-", "-"
		if e.Time != nil {
			median, interval = fmt.Sprintf("%.4g", e.Time.Median), fmt.Sprintf("%.4g to %.4g", e.Time.CI95[0], e.Time.CI95[1])
		}
		io.WriteString(w, output.Row(e.Problem, e.Target, median, interval, cmp.Or(e.Device, "-")))
	}
	for _, f := range k.pack.Families {
		regret := "no regret measured"
		if f.Regret != nil {
			regret = regretText(f.Regret)
		}
		io.WriteString(w, output.Row(f.Problem, f.Target, "-", "-", fmt.Sprintf("%s, %s, %s", cmp.Or(f.Device, "-"), output.Count(len(f.Variants), "kernel"), regret)))
	}
	for _, g := range k.pack.General {
		io.WriteString(w, output.Row(fmt.Sprintf("%s, any problem, math=%s type=%s", g.Operator, g.Math, g.Type), "PTX", "-", "-", "-"))
	}
	w.Flush()
	return text.String() + k.whole()
}

// whole says that the files are as they were packed. Open has verified them.
func (k *packCheck) whole() string {
	return fmt.Sprintf("%s: all %s are as they were packed\n", k.pack.Path, output.Count(len(k.pack.Files), "file"))
}

// table shows what holds, and what moved and by how much.
func (k *packCheck) table() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "verdict\tproblem\ttarget\twas ms\tnow ms\tchange\tgeneral ms\tgeneral/now\t")
	ms := func(x float64) string {
		if x == 0 {
			return "-"
		}
		return fmt.Sprintf("%.4g", x)
	}
	for _, e := range k.list {
		change, ratio := "-", "-"
		if e.WasMS > 0 && e.NowMS > 0 {
			change = fmt.Sprintf("%+.1f %%", 100*(e.NowMS/e.WasMS-1))
		}
		if e.GeneralMS > 0 && e.NowMS > 0 {
			ratio = fmt.Sprintf("%.2fx", e.GeneralMS/e.NowMS)
		}
		io.WriteString(w, output.Row(e.Verdict, e.Problem, e.Target, ms(e.WasMS), ms(e.NowMS), change, ms(e.GeneralMS), ratio, e.Message))
	}
	w.Flush()
	return text.String() + k.whole()
}

// update searches the entries at fault again and writes the pack anew.
func (k *packCheck) update() error {
	if err := k.writable(); err != nil {
		return badInput(err)
	}
	var all []cudasource.Winner
	var families []packer.Family
	var archs []string
	for _, e := range k.list {
		if e.Target != e.tuned() && !slices.Contains(archs, e.Target) {
			archs = append(archs, e.Target)
		}
		if e.family != nil {
			families = append(families, *e.family)
			continue
		}
		w := *e.winner
		if e.fault {
			var err error
			if w, err = k.again(w); err != nil {
				return err
			}
		}
		all = append(all, w)
	}
	if archs != nil { // one was compiled for another architecture than that of its search
		for _, e := range k.list {
			if !slices.Contains(archs, e.Target) {
				archs = append(archs, e.Target)
			}
		}
	}
	compiler, err := compile.NVRTC(k.c.Context)
	if err != nil {
		return err
	}
	defer compiler.Close()
	native, err := packer.NativeIn(k.pack)
	if err != nil {
		return badInput(err)
	}
	o := packer.Options{Name: k.pack.Name, Tool: tool(), Archs: archs, Native: native}
	p, err := packer.Make(k.c.Context, compiler, all, families, o)
	if err == nil {
		tell(p.Notices)
		err = p.Write(k.pack.Path)
	}
	if err != nil {
		return badInput(err)
	}
	_, err = fmt.Fprintf(k.c.App.Writer, "wrote %s: %s searched again\n", k.pack.Path, output.Count(len(k.faults()), "entry"))
	return err
}

// tuned is the architecture that the search ran on.
func (e *checkedEntry) tuned() string {
	if e.family != nil {
		return e.family.Target
	}
	return e.winner.Best.Target
}

// writable says why a pack cannot be written again from its contents.
func (k *packCheck) writable() error {
	for _, e := range k.list {
		switch {
		case e.family != nil && e.fault:
			return fmt.Errorf("%s cannot be updated, since `autotune tune` finds families, as %s: %s", k.pack.Path, e.Problem, e.Message)
		case e.winner == nil && e.family == nil:
			return fmt.Errorf("%s cannot be updated, since %s for %s could not be packed again: %s", k.pack.Path, e.Problem, e.Target, e.Message)
		}
	}
	for _, o := range k.pack.Operators {
		for _, step := range o.Dispatch {
			if !slices.Contains([]string{"exact", "family", "general"}, step.By) {
				return fmt.Errorf("%s cannot be updated, since its dispatch of %s has the step %q; pack it again", k.pack.Path, o.Name, step.By)
			}
		}
	}
	return nil
}

// again searches an entry's problem anew, as `autotune search` does.
func (k *packCheck) again(w cudasource.Winner) (cudasource.Winner, error) {
	op := w.Problem.Operator
	opened, err := k.opener.Open(k.c.Context, op, w.Best.Problem.Request())
	if err != nil {
		return w, err
	}
	result, err := searchShown(k.c.Context, k.c, opened, tuner.Options{Target: strategy.Target})
	if err != nil {
		return w, err
	}
	if result.Stop == tuner.Interrupted {
		return w, withCode(exitInterrupted, errors.New("interrupted; the pack is as it was"))
	}
	return cudasource.Of(bestconfig.FromRecord(result.Record), op, opened.Problem.Limits, tool())
}

// proofs are the entries as reports for CI have them.
func (k *packCheck) proofs() []reports.Proof {
	var all []reports.Proof
	for _, e := range k.list {
		p := e.proof(k.pack.Name)
		p.Target, p.Failed, p.Skipped = e.Target, e.fault, e.Verdict == unproven
		all = append(all, p)
	}
	return all
}
