// Package devices opens the device that `--device` names, and binds the problem to it: what a GPU can do decides what
// `--math auto` means and which configurations are valid.
package devices

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/remote/fleet"
	"autotune/operator"
	"autotune/tuner/torchmath"
)

// Options say how to open a device.
type Options struct {
	CacheDir string // of compiled binaries
	Runs     bool   // auto passes over devices that run nothing: recordings
	// Server is where to find workers in place of a device; without a URL: nowhere. GPU is
	// part of their devices' name, "": as the first has it.
	Server fleet.Login
	GPU    string
	Say    func(text string) // is called with what a person should know about workers; nil: nobody is told
	// Await is called with what is awaited, and what it gives once that is there; nil: nobody is told.
	Await    func(what string) (done func())
	Sanitize bool // find accesses that must not be: with the emulator's sanitizers, or on a GPU with compute-sanitizer
}

// Opened is an open device with the problem bound to it.
type Opened struct {
	Device  device.Device
	Problem *operator.Problem
	// Notice tells the user what was opened, when it is not a GPU.
	Notice string
	// Mode gives PyTorch's answer, where the operator's rule chose the problem's math mode until that is known. If the
	// mode is another, the answer's error is an *OtherMode.
	Mode <-chan device.ModeChoice
}

func fits(info device.Info, p *operator.Problem) error {
	if has := info.Limits.MemoryBytes; info.Kind.Properties().Compiles && has > 0 && p.MemoryBytes() > has {
		return fmt.Errorf("%w: the tensors of %s take %s, %s has %s",
			device.ErrMemory, p, device.GiB(p.MemoryBytes()), info.Name, device.GiB(has))
	}
	return nil
}

type asked struct {
	operator *operator.Operator
	request  operator.Request
	emulated *operator.Problem // bound to the emulator
}

// ask binds the request with the emulator's limits. So a request that is wrong on every device is
// refused before any is opened.
func ask(op *operator.Operator, r operator.Request) (asked, error) {
	p, err := op.Bind(r, operator.TypicalLimits())
	return asked{op, r, p}, err
}

func (a asked) bind(l operator.Limits) (*operator.Problem, error) {
	return a.operator.Bind(a.request, l)
}

// Bind binds a problem as the device would that --device names, without running anything there: to know a space it
// takes a device's limits, not the device. from says whose limits they are.
func Bind(ctx context.Context, spec Spec, op *operator.Operator, r operator.Request) (p *operator.Problem, from string, err error) {
	a, err := ask(op, r)
	if err != nil {
		return nil, "", err
	}
	limits, from, err := limitsFor(ctx, spec, a)
	if err == nil {
		p, err = a.bind(limits)
	}
	return p, from, err
}

// limitsFor finds the limits of the device that spec names. auto takes those of
// a GPU that is here or was recorded, else those that the emulator has.
func limitsFor(ctx context.Context, spec Spec, a asked) (operator.Limits, string, error) {
	if spec.Kind != "" {
		return kindsByName[spec.Kind].limits(ctx, spec.Argument, a)
	}
	if limits, from, err := limitsOfGPU(ctx, "", a); err == nil {
		return limits, from, nil
	}
	if limits, from, err := limitsOfRecording(ctx, "", a); err == nil {
		return limits, from, nil
	}
	return operator.TypicalLimits(), "an sm_90 GPU, as there is none here", nil
}

// Opener opens devices for one problem after another; a GPU, its compilers and the emulator serve them all.
type Opener struct {
	spec    Spec
	options Options
	shared  device.Device // nil until one is open
	noGPU   error         // why auto found none, once it has looked
}

func NewOpener(spec Spec, o Options) *Opener { return &Opener{spec: spec, options: o} }

// Several tells whether it may be that more than one device is opened.
func (o *Opener) Several() bool {
	several := strings.ContainsAny(o.spec.Argument, ","+times) || o.spec.Argument == everyGPU
	return o.options.Server.URL != "" || several && o.spec.Kind.Properties().Compiles
}

// Open opens the device, unless it is open, and binds the problem to it. The device is the Opener's to close.
func (o *Opener) Open(ctx context.Context, op *operator.Operator, r operator.Request) (*Opened, error) {
	return o.open(ctx, op, r, false)
}

// Begin is Open for who need not know the math mode at once. PyTorch's import takes seconds. Until then the problem has
// the mode of the operator's rule, and Opened.Mode will give the answer.
func (o *Opener) Begin(ctx context.Context, op *operator.Operator, r operator.Request) (*Opened, error) {
	return o.open(ctx, op, r, true)
}

func (o *Opener) open(ctx context.Context, op *operator.Operator, r operator.Request, unsettled bool) (*Opened, error) {
	a, err := ask(op, r)
	if err != nil {
		return nil, err
	}
	if o.shared == nil && o.options.Await != nil {
		defer o.options.Await("opening the device")()
	}
	d, notice, err := o.device(ctx, a)
	if err != nil {
		return nil, err
	}
	info := d.Info()
	opened, err := o.bind(ctx, a, d, unsettled)
	if err == nil {
		err = fits(info, opened.Problem)
	}
	if err == nil && info.Kind.Properties().Measures { // the emulator compares what the compiler makes of them
		err = op.CheckSignatures()
	}
	if err != nil {
		if d != o.shared {
			err = errors.Join(err, d.Close())
		}
		return nil, err
	}
	if info.Kind.Properties().Compiles {
		o.shared = d
	}
	opened.Notice = notice
	return opened, nil
}

// bind binds the problem to an open device. Where that is a GPU, PyTorch is asked which math mode `auto` is, if the
// operator can ask it.
func (o *Opener) bind(ctx context.Context, a asked, d device.Device, unsettled bool) (*Opened, error) {
	info := d.Info()
	p, err := a.bind(info.Limits)
	if err != nil || !operator.AutoMath(a.request.Math) || !torchmath.Asks(p) || !a.operator.Named || !info.Kind.Properties().Measures {
		return &Opened{Device: d, Problem: p}, err
	}
	importing, modes := make(chan struct{}), make(chan device.ModeChoice, 1)
	asker := torchmath.Asker{CacheDir: o.options.CacheDir, Unknown: func() { close(importing) }}
	go func() {
		said, err := asker.Ask(ctx, p, torchmath.GPU{Ordinal: ordinal(o.spec.Argument), Name: info.Name})
		modes <- choiceOf(said, err, p.Math)
	}()
	if unsettled && besidePyTorch*p.MemoryBytes() < info.Limits.MemoryBytes {
		select {
		case c := <-modes:
			return a.settled(ctx, d, c)
		case <-importing:
			return &Opened{Device: d, Problem: p, Mode: modes}, nil
		}
	}
	return a.settled(ctx, d, <-modes)
}

// besidePyTorch is how many times a problem's memory a GPU must have for a search while PyTorch computes it, too.
const besidePyTorch = 3

func (a asked) settled(ctx context.Context, d device.Device, c device.ModeChoice) (*Opened, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var other *OtherMode
	if a.request.MathBy = c.By; errors.As(c.Err, &other) {
		a.request.Math, a.request.MathBy = other.Name, other.By
	}
	p, err := a.bind(d.Info().Limits)
	return &Opened{Device: d, Problem: p}, err
}

// choiceOf is what PyTorch's answer says about a problem that has the mode of the operator's rule.
func choiceOf(said torchmath.Mode, err error, rule string) device.ModeChoice {
	switch {
	case err != nil:
		return device.ModeChoice{By: "by the operator's rule: " + err.Error()}
	case said.Name != rule:
		return device.ModeChoice{Err: &OtherMode{said}}
	}
	return device.ModeChoice{By: said.By}
}

// OtherMode ends a search that began in another mode than PyTorch computes the problem in.
type OtherMode struct{ torchmath.Mode }

func (e *OtherMode) Error() string { return "the math mode is " + e.Name + ", " + e.By }

func (o *Opener) Close() error {
	if o.shared == nil {
		return nil
	}
	return o.shared.Close()
}

func (o *Opener) device(ctx context.Context, a asked) (d device.Device, notice string, err error) {
	if o.shared != nil && (o.options.Server.URL != "" || o.spec.Kind != "" || o.shared.Info().Kind.Properties().Measures) {
		return o.shared, "", nil
	}
	if o.options.Server.URL != "" {
		return openWorkers(ctx, o.options)
	}
	if o.spec.Kind == "" {
		return o.auto(ctx, a)
	}
	arguments, err := o.spec.Arguments(ctx)
	if err != nil {
		return nil, "", err
	}
	if len(arguments) == 1 { // a single device needs no pool
		return kindsByName[o.spec.Kind].open(ctx, arguments[0], a, o.options)
	}
	d, err = openSeveral(ctx, o.spec, o.options)
	return d, severalNotice(o.spec, len(arguments)), err
}

// auto takes a GPU; else a shipped recording of exactly this problem; else the emulator, if that will not take long.
func (o *Opener) auto(ctx context.Context, a asked) (device.Device, string, error) {
	if o.noGPU == nil {
		d, notice, err := openGPU(ctx, "", a, o.options)
		if err == nil || !errors.Is(err, device.ErrNone) {
			return d, notice, err
		}
		o.noGPU = err
	}
	recorded := "no recording of exactly this problem is shipped"
	if o.options.Runs {
		recorded = "a recording would run nothing"
	} else if d, notice, err := openRecording(ctx, "", a, o.options); err == nil {
		return d, notice, nil
	}
	if work := emulatedTime(a.emulated); work > longestEmulation {
		return nil, "", fmt.Errorf("nothing here can run %s: %s; %s; the CPU emulator would take about %s a variant; use a machine with "+
			"an NVIDIA GPU, a smaller --shape, or insist with --device emulator: %w",
			a.emulated, device.Reason(o.noGPU), recorded, work.Round(100*time.Millisecond), device.ErrNone)
	}
	if o.shared != nil { // the emulator, from a problem before
		return o.shared, "", nil
	}
	d, notice, err := openEmulator(ctx, "", a, o.options)
	if err != nil {
		return nil, "", fmt.Errorf("no GPU, and %w", err)
	}
	return d, "no GPU: " + notice, nil
}

// The emulator's rate and the longest evaluation that `--device auto` asks of
// it: with a compilation beside each, a few dozen variants end in a minute.
const (
	emulatedOperationsPerSecond = 1e8
	longestEmulation            = 200 * time.Millisecond
)

func emulatedTime(p *operator.Problem) time.Duration {
	seconds := (float64(p.Flops) + float64(p.Bytes)/4) / emulatedOperationsPerSecond
	return time.Duration(min(seconds, 1e9) * float64(time.Second))
}
