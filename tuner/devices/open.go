// Package devices opens the device that `--device` names, and binds the problem to it: the device's abilities decide
// what `--math auto` means and which configurations are valid.
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
	CacheDir string // folder for compiled binaries
	Runs     bool   // auto does not choose recordings, which run nothing
	// If Server has a URL, workers at that NATS server are used instead of a local device. GPU must occur in the device
	// names of all workers that are used; if GPU is empty, all workers must have the GPU model of the first worker.
	Server fleet.Login
	GPU    string
	Say    func(text string) // reports news about workers to the user; may be nil
	// Await, if not nil, is called before a long wait with a description of the awaited thing; the function that Await
	// returns is called when the wait ends.
	Await    func(what string) (done func())
	Sanitize bool // check memory accesses, with the emulator's sanitizers or compute-sanitizer
}

// Opened is an open device with the problem bound to it.
type Opened struct {
	Device  device.Device
	Problem *operator.Problem
	// Notice tells the user which device was opened, unless it is a GPU.
	Notice string
	// Mode, if not nil, delivers PyTorch's choice of the math mode; until then the problem has the mode that the
	// operator's rule chose. The error in ModeChoice is an *OtherMode if PyTorch uses another math mode than the
	// problem.
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
	emulated *operator.Problem // the problem, bound to the emulator
}

// ask binds the request with the emulator's limits, so that a request that is wrong on every device causes an error
// before any device is opened.
func ask(op *operator.Operator, r operator.Request) (asked, error) {
	p, err := op.Bind(r, operator.TypicalLimits())
	return asked{op, r, p}, err
}

func (a asked) bind(l operator.Limits) (*operator.Problem, error) {
	return a.operator.Bind(a.request, l)
}

// Bind binds a problem with the limits of the device that --device names. Bind does not open the device, since its
// limits suffice to know the problem's space. The result `from` is the name of the device whose limits Bind used.
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

// limitsFor returns the limits of the device that a Spec names. For `--device auto`, limitsFor returns the limits of a
// GPU in this machine, otherwise those of a recorded GPU, otherwise those of the emulator.
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

// Opener opens devices for one problem after another; all problems use the same GPU, compilers and emulator.
type Opener struct {
	spec    Spec
	options Options
	shared  device.Device // nil until a device is open
	noGPU   error         // why auto found no GPU, once it has looked
}

func NewOpener(spec Spec, o Options) *Opener { return &Opener{spec: spec, options: o} }

// Several reports whether the opener may open more than one device.
func (o *Opener) Several() bool {
	several := strings.ContainsAny(o.spec.Argument, ","+times) || o.spec.Argument == everyGPU
	return o.options.Server.URL != "" || several && o.spec.Kind.Properties().Compiles
}

// Open opens the device, unless it is open already, and binds the problem to it. The caller must not close the device,
// since the Opener closes it.
func (o *Opener) Open(ctx context.Context, op *operator.Operator, r operator.Request) (*Opened, error) {
	return o.open(ctx, op, r, false)
}

// Begin is like Open, but does not wait for PyTorch's choice of the math mode, since importing PyTorch takes seconds.
// Until Opened.Mode delivers PyTorch's choice, the problem uses the math mode that the operator's rule chose.
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
	if err == nil && info.Kind.Properties().Measures { // the emulator compares compiled signatures
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

// bind binds the problem to a device that is already open. If the device is a GPU and the operator can ask PyTorch,
// PyTorch decides which math mode `auto` means.
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

// besidePyTorch is the multiple of a problem's memory that a GPU must have so that PyTorch can run during a search.
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

// choiceOf turns PyTorch's answer about the math mode into a choice; `rule` is the mode that the operator's rule has
// given the problem.
func choiceOf(said torchmath.Mode, err error, rule string) device.ModeChoice {
	switch {
	case err != nil:
		return device.ModeChoice{By: "by the operator's rule: " + err.Error()}
	case said.Name != rule:
		return device.ModeChoice{Err: &OtherMode{said}}
	}
	return device.ModeChoice{By: said.By}
}

// OtherMode is the error of a search whose math mode turned out not to be the one that PyTorch uses for the problem.
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
	if len(arguments) == 1 { // one device needs no pool
		return kindsByName[o.spec.Kind].open(ctx, arguments[0], a, o.options)
	}
	d, err = openSeveral(ctx, o.spec, o.options)
	return d, severalNotice(o.spec, len(arguments)), err
}

// auto opens a GPU if there is one, otherwise a shipped recording of exactly this problem, otherwise the emulator if
// kernels would run quickly enough on it.
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
	if o.shared != nil { // the emulator, opened for an earlier problem
		return o.shared, "", nil
	}
	d, notice, err := openEmulator(ctx, "", a, o.options)
	if err != nil {
		return nil, "", fmt.Errorf("no GPU, and %w", err)
	}
	return d, "no GPU: " + notice, nil
}

// longestEmulation is the longest evaluation for which `--device auto` chooses the emulator, which runs about
// emulatedOperationsPerSecond. If an evaluation takes longestEmulation, the emulator compiles and tries a few dozen
// variants in a minute.
const (
	emulatedOperationsPerSecond = 1e8
	longestEmulation            = 200 * time.Millisecond
)

func emulatedTime(p *operator.Problem) time.Duration {
	seconds := (float64(p.Flops) + float64(p.Bytes)/4) / emulatedOperationsPerSecond
	return time.Duration(min(seconds, 1e9) * float64(time.Second))
}
