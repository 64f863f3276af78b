package prove

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/pack"
	"autotune/pack/packer"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
	"autotune/tuner/devices"
	"autotune/tuner/final"
	"autotune/tuner/winners"
)

// Checked is a pack's manifest, with a verdict for each entry if the entries were verified again.
type Checked struct {
	pack.Manifest
	Entries []*Entry `json:"checked,omitempty"`

	pack *pack.Pack
	o    Options
}

// Entry is the verdict on one entry or one family of a pack.
type Entry struct {
	Verdict
	Target string `json:"target"`

	winner *cudasource.Winner // nil for a family, or if the evidence is unusable
	fault  bool               // wrong or too slow, so that the check fails
}

// unproven is the verdict on entries that this device cannot run.
const unproven = "unproven"

func newEntry(problem, device, target string) *Entry {
	return &Entry{Target: target, Verdict: Verdict{Problem: problem, Device: device, Verdict: unproven}}
}

// Open opens a pack whose entries are to be verified again. Open fails if the pack contains code that its manifest
// does not account for.
func Open(p *pack.Pack, o Options) (*Checked, error) {
	c := &Checked{Manifest: p.Manifest, pack: p, o: o}
	if err := p.Unlisted(); err != nil {
		return nil, err
	}
	if p.Tool != o.Tool {
		o.Tell(fmt.Sprintf("the loaders in %s are those of %s, and this is %s, which can say of its own alone whether they "+
			"do what the manifest says",
			p.Path, p.Tool, o.Tool))
		return c, nil
	}
	operators := map[string]*operator.Operator{}
	for _, known := range p.Operators {
		if op, err := c.operator(known.Name); err == nil {
			operators[known.Name] = op
		}
	}
	foreign, unknown, err := packer.Foreign(p, operators)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the pack %s: its loaders: %w", p.Path, err)
	case len(foreign) > 0:
		return nil, fmt.Errorf("the pack %s: %s is not what %s writes for the manifest: it may run something else than "+
			"what is checked; pack it again",
			p.Path, foreign[0], o.Tool)
	case len(unknown) > 0:
		o.Tell("not compared with the manifest: " + strings.Join(unknown, ", "))
	}
	return c, nil
}

// Prove verifies and times every entry and every family again.
func (c *Checked) Prove(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			c.Entries = nil
		}
	}()
	for _, packed := range c.pack.Entries {
		e := newEntry(packed.Problem, packed.Device, packed.Target)
		if packed.Time != nil {
			e.WasMS = packed.Time.Median
		}
		if err := c.proveEntry(ctx, e, packed); err != nil {
			return err
		}
		c.Entries = append(c.Entries, e)
	}
	for _, packed := range c.pack.Families {
		e := newEntry(packed.Problem, packed.Device, packed.Target)
		if err := c.proveFamily(ctx, e, packed); err != nil {
			return err
		}
		c.Entries = append(c.Entries, e)
	}
	return nil
}

// proveEntry times an entry again, from the best-config document that the pack stores as evidence. proveEntry compares
// the entry's winner with the operator's untuned defaults and with the configurations that tied with the winner in the
// search.
func (c *Checked) proveEntry(ctx context.Context, e *Entry, packed *pack.Entry) error {
	w, op, err := c.winner(packed)
	if err != nil {
		e.Message = reason(err)
		return nil
	}
	e.winner = &w
	on, err := c.o.Opener.Open(ctx, op, w.Best.Problem.Request())
	if err != nil || e.elsewhere(on) {
		return err
	}
	first := append([]space.Configuration{w.Best.Configuration},
		lists.Of(w.Best.Ties, func(tie final.Contender) space.Configuration { return tie.Configuration })...)
	v, err := c.o.beside(ctx, on, winners.OfDocument(w), tuner.Options{First: first})
	if err != nil {
		return err
	}
	if e.Verdict = v; on.Device.Info().Name != w.Best.Device.Name {
		e.WasMS = 0 // times of different devices cannot be compared
	}
	if v.Verdict == "ties" || v.Verdict == "lost" { // the gates checked only the faster variant
		if err := c.gate(ctx, e, op); err != nil {
			return err
		}
	}
	if e.fault = e.failed(); !c.o.CI || e.fault {
		return nil
	}
	v = e.Verdict
	if err := v.alone(ctx, c.o, on, winners.OfDocument(w)); err != nil {
		return err
	}
	if e.fault = v.Lost(); e.fault {
		e.Verdict = v
	}
	e.Noise = v.Noise
	return nil
}

// elsewhere reports whether the entry was compiled for another architecture than the device's.
func (e *Entry) elsewhere(on *devices.Opened) bool {
	here := on.Device.Info()
	arch, _, _ := pack.Target(e.Target)
	if !here.Kind.Properties().Measures || arch == here.Limits.Arch {
		return false
	}
	e.Message = fmt.Sprintf("it is for %s; %s has sm_%d", e.Target, here.Name, here.Limits.Arch)
	return true
}

// gate runs the correctness gates (the final checks of a search) on the entry's own kernel.
func (c *Checked) gate(ctx context.Context, e *Entry, op *operator.Operator) error {
	on, err := c.o.Opener.Open(ctx, op, e.winner.Best.Problem.Request())
	if err != nil {
		return err
	}
	s := tuner.Options{
		First: []space.Configuration{e.winner.Best.Configuration}, Gating: final.GateAll,
		Only: operator.Restriction{Templates: []string{e.winner.Best.Template}},
	}
	v, err := c.o.beside(ctx, on, winners.OfDocument(*e.winner), s)
	if err == nil && v.failed() {
		e.Verdict.Verdict, e.Message = v.Verdict, v.Message
	}
	return err
}

func (c *Checked) winner(e *pack.Entry) (w cudasource.Winner, op *operator.Operator, err error) {
	if len(e.Evidence) == 0 {
		return w, nil, errors.New("the entry has no evidence")
	}
	best, err := bestconfig.Read(bytes.NewReader(e.Evidence))
	if err != nil {
		return w, nil, fmt.Errorf("its evidence: %w", err)
	}
	if op, err = c.operator(best.Operator); err != nil {
		return w, nil, err
	}
	w, err = cudasource.Of(best, op, operator.TypicalLimits(), c.o.Tool)
	return w, op, err
}

// operator finds an operator that the user named or that is built in. The name, which comes from a pack, is never
// treated as a folder's path.
func (c *Checked) operator(name string) (*operator.Operator, error) {
	if op, found := lists.First(c.o.Operators, func(o *operator.Operator) bool { return o.Name == name }); found {
		return op, nil
	}
	return operator.Find(name)
}

func (c *Checked) faults() []*Entry {
	return lists.Where(c.Entries, func(e *Entry) bool { return e.fault })
}

// Fault returns an error that says how many entries are wrong or too slow, or nil if no entry is.
func (c *Checked) Fault() error {
	faults := len(c.faults())
	if faults == 0 {
		return nil
	}
	than := "a family slower than the general kernel"
	if c.o.CI {
		than += ", or slower than it was"
	}
	return fmt.Errorf("%s of %s wrong, or %s", output.Count(faults, "entry"), c.pack.Path, than)
}

// Text returns a table of the verdicts on the entries, with the times that changed. If the entries were not verified
// again, the table lists the entries with the times that were measured before packing.
func (c *Checked) Text() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	if len(c.Entries) > 0 {
		c.proven(w)
	} else {
		c.packed(w)
	}
	w.Flush()
	return text.String() + fmt.Sprintf("%s: all %s are as they were packed\n", c.pack.Path,
		output.Count(len(c.pack.Files), "file"))
}

func (c *Checked) packed(w io.Writer) {
	fmt.Fprintln(w, "problem\ttarget\tms\t95 %\tdevice")
	for _, e := range c.pack.Entries {
		median, interval := "-", "-"
		if e.Time != nil {
			median, interval = fmt.Sprintf("%.4g", e.Time.Median), fmt.Sprintf("%.4g to %.4g", e.Time.CI95[0], e.Time.CI95[1])
		}
		io.WriteString(w, output.Row(e.Problem, e.Target, median, interval, cmp.Or(e.Device, "-")))
	}
	for _, f := range c.pack.Families {
		about := []string{cmp.Or(f.Device, "-"), output.Count(len(f.Variants), "kernel"), packedRegret(f.Regret)}
		io.WriteString(w, output.Row(f.Problem, f.Target, "-", "-", strings.Join(about, ", ")))
	}
	for _, g := range c.pack.General {
		io.WriteString(w, output.Row(fmt.Sprintf("%s, any problem, math=%s type=%s", g.Operator, g.Math, g.Type), "PTX", "-",
			"-", "-"))
	}
}

func (c *Checked) proven(w io.Writer) {
	fmt.Fprintln(w, "verdict\tproblem\ttarget\twas ms\tnow ms\tchange\t")
	ms := func(x float64) string {
		if x == 0 {
			return "-"
		}
		return fmt.Sprintf("%.4g", x)
	}
	for _, e := range c.Entries {
		change := "-"
		if e.WasMS > 0 && e.NowMS > 0 {
			change = e.change()
		}
		io.WriteString(w, output.Row(e.Verdict.Verdict, e.Problem, e.Target, ms(e.WasMS), ms(e.NowMS), change, e.Message))
	}
}

func reason(err error) string {
	return output.Line(strings.ReplaceAll(strings.TrimSpace(device.Reason(err)), "\n", "; "))
}
