// Package torchtimes times PyTorch on a problem, on the GPU that a search runs on, and compares its
// outputs with the winner's. The winner takes turns with it. PyTorch runs in the python3 of whoever runs this program.
package torchtimes

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/answers"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/internal/python"
	"autotune/operator"
	"autotune/pack/loaders"
	"autotune/space/expr"
	"autotune/tuner/final"
)

//go:embed times.py
var driver string

// program is what times PyTorch.
var program = sync.OnceValue(func() python.Program {
	calls := string(loaders.File("python/torch_calls.py"))
	return python.Program{Code: driver, Modules: map[string]string{"torch_calls": calls}}
})

// The ways to call PyTorch's function.
const (
	Eager          = "torch_eager"           // as it is called
	EagerFP32      = "torch_eager_fp32"      // with TF32 off
	Compile        = "torch_compile"         // through torch.compile
	CuDNNBenchmark = "torch_cudnn_benchmark" // with cuDNN's kernel chosen by trying all
	ChannelsLast   = "torch_channels_last"   // with tensors whose channels lie last in memory
)

// Ways are all of them.
func Ways() []string { return []string{Eager, EagerFP32, Compile, CuDNNBenchmark, ChannelsLast} }

// How long PyTorch may take: to begin, which imports it and compiles, and for a turn.
const (
	beginLimit = 5 * time.Minute
	turnLimit  = time.Minute
)

// CompileWait is for how long a search that nobody asked to time torch.compile waits for it at its end. Beside a search
// whose compilers need all cores, torch.compile takes 9 to 12 s beyond the search for one function that it has not compiled
// before (H200, 16 cores, 2026-11-28).
const CompileWait = 12 * time.Second

// turnSamples are the calls of a turn.
const turnSamples = 12

// Torch is PyTorch on a GPU, called in some of the ways. One process of it serves one problem after
// another, and ends with this program or when it is closed.
type Torch struct {
	ordinal int
	names   []string
	wait    time.Duration // for torch.compile, once the winner is known; 0: as long as it takes

	lock     sync.Mutex
	talk     *python.Conversation // nil: none, or the last one failed
	prepared *preparation         // nil: no problem is
	closed   bool
}

// preparation is a problem that PyTorch prepares, or has prepared.
type preparation struct {
	job     job
	hurried bool // torch.compile is left out, if it is still at work
	done    chan struct{}
	said    answer
	err     error
}

// New is PyTorch, which is imported once a problem is to be prepared. wait is for how long torch.compile may go on
// once the winner is known; 0: as long as it takes.
func New(ordinal int, wait time.Duration, names ...string) *Torch {
	return &Torch{ordinal: ordinal, names: names, wait: wait}
}

// Close ends the process.
func (t *Torch) Close() error {
	t.lock.Lock()
	talk, prepared := t.talk, t.prepared
	t.talk, t.prepared, t.closed = nil, nil, true
	t.lock.Unlock()
	var err error
	if talk != nil {
		err = talk.Close()
	}
	if prepared != nil {
		<-prepared.done
	}
	return err
}

// job is a problem for the driver.
type job struct {
	Ordinal int      `json:"ordinal"`
	Names   []string `json:"names"`
	Calls   []Call   `json:"calls"`
	Flush   int64    `json:"flush"` // bytes to write before each sample
	TF32    bool     `json:"tf32"`  // of products of matrices, which PyTorch computes in fp32 unless told otherwise
}

// comparison is what the winner reads and gives, for a problem that is prepared.
type comparison struct {
	Names  []string `json:"names"` // to be compared
	Fill   []Call   `json:"fill"`
	Output *Tensor  `json:"output"` // nil: it is not compared
	ATol   float64  `json:"atol"`
	RTol   float64  `json:"rtol"`
}

// Call is a function with its arguments by PyTorch's names.
type Call struct {
	Function string            `json:"function"`
	Tensors  map[string]Tensor `json:"tensors"`
	Values   map[string]any    `json:"values"` // a value, or a list of a parameter's components
}

// Tensor is in a file; without one, of uniform numbers.
type Tensor struct {
	Is    string        `json:"is"` // the operator's name
	Shape []int64       `json:"shape"`
	Type  operator.Type `json:"type"`
	Order []int         `json:"order"` // its axes from the outermost in memory to the innermost
	File  string        `json:"file"`
	Low   float64       `json:"low"`
	High  float64       `json:"high"`
}

// The other jobs: whether PyTorch and a GPU are there, an end to what torch.compile does, and the end of the problem.
var (
	look  = map[string]bool{"look": true}
	hurry = map[string]bool{"hurry": true}
	end   = struct{}{}
)

// turn asks for samples.
type turn struct {
	Name    string `json:"name"`
	Samples int    `json:"samples"`
}

// answer is the driver's.
type answer struct {
	Fault string            `json:"fault"`
	Torch string            `json:"torch"`
	Names []string          `json:"names"` // that can be timed
	Left  map[string]string `json:"left"`  // the others, and why
	MS    float64           `json:"ms"`
	// Outputs are how far those of a name are from the winner's; Unlike says why they were not compared.
	Outputs map[string]*final.Outputs `json:"outputs"`
	Unlike  map[string]string         `json:"unlike"`
}

// Prepare begins to prepare a problem: to import PyTorch, to make tensors and to call the function once in each way, which
// compiles it. All of that takes seconds, and the GPU for moments.
func (t *Torch) Prepare(ctx context.Context, p *operator.Problem, protocol device.Protocol) {
	if len(p.Torch()) > 0 {
		t.prepare(ctx, t.jobOf(p, protocol))
	}
}

func (t *Torch) prepare(ctx context.Context, j job) *preparation {
	t.lock.Lock()
	defer t.lock.Unlock()
	before := t.prepared
	if before != nil && reflect.DeepEqual(before.job, j) {
		return before
	}
	now := &preparation{job: j, done: make(chan struct{})}
	t.prepared = now
	go func() {
		defer close(now.done)
		if before != nil {
			t.hurry(before)
			<-before.done
			if before.err == nil {
				_, _ = t.ask(end, turnLimit) // a process that fails is started again
			}
		}
		now.said, now.err = t.begin(ctx, now)
	}()
	return now
}

// begin starts PyTorch, unless it runs, and hands it the problem.
func (t *Torch) begin(ctx context.Context, p *preparation) (said answer, err error) {
	t.lock.Lock()
	if t.closed {
		err = errEnded
	} else if t.talk == nil {
		t.talk, err = program().Begin(ctx)
	}
	if err == nil && p.hurried {
		err = t.talk.Tell(hurry)
	}
	t.lock.Unlock()
	if errors.Is(err, python.ErrMissing) {
		return said, &final.AbsentError{Err: err}
	}
	if err != nil {
		return said, err
	}
	if said, err = t.ask(look, beginLimit); err != nil {
		if said.Fault != "" {
			err = &final.AbsentError{Err: err}
		}
		return said, err
	}
	return t.ask(p.job, beginLimit)
}

// hurry has PyTorch leave torch.compile out, if it is still at it.
func (t *Torch) hurry(p *preparation) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if p.hurried = true; t.talk != nil {
		_ = t.talk.Tell(hurry)
	}
}

// ready waits until a problem is prepared.
func (t *Torch) ready(ctx context.Context, p *preparation) (answer, error) {
	var late <-chan time.Time
	if t.wait > 0 {
		late = time.After(t.wait)
	}
	for {
		select {
		case <-p.done:
			return p.said, p.err
		case <-late:
			t.hurry(p)
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
}

// forget ends the problem that is prepared.
func (t *Torch) forget() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.prepared = nil
}

// Start prepares the problem, unless that was done, and compares outputs.
func (t *Torch) Start(ctx context.Context, p *operator.Problem, protocol device.Protocol, leave func() string) (_ final.Rival, err error) {
	if len(p.Torch()) == 0 {
		return nil, &final.AbsentError{Err: fmt.Errorf("op.yaml of %s names no function of PyTorch's that computes this problem", p.Operator.Name)}
	}
	said, err := t.ready(ctx, t.prepare(ctx, t.jobOf(p, protocol)))
	if err != nil {
		t.forget()
		return nil, err
	}
	s := &session{torch: t, said: said, last: p.ChannelsLast()}
	if left := leave(); left != "" {
		err = s.compare(p, left)
	}
	if err != nil {
		t.forget()
		return nil, err
	}
	return s, nil
}

// compare has the inputs filled with the winner's, and outputs compared with its own.
func (s *session) compare(p *operator.Problem, left string) error {
	c := comparison{Names: s.said.Names}
	for _, known := range p.Torch() {
		c.Fill = append(c.Fill, callOf(known, left))
	}
	for _, a := range p.Arguments {
		if c.Output == nil && a.Role.Compared() && a.Elements > 0 {
			c.Output = &Tensor{Shape: a.Shape, Type: a.Type, Order: a.Axes(), File: filepath.Join(left, answers.OutputName(a))}
			c.ATol, c.RTol = a.ATol, a.RTol
		}
	}
	said, err := s.torch.ask(c, beginLimit)
	for _, o := range said.Outputs {
		o.ATol, o.RTol = c.ATol, c.RTol
	}
	s.said.Outputs, s.said.Unlike = said.Outputs, said.Unlike
	return err
}

var errEnded = errors.New("PyTorch has ended")

// ask hands over a job. After an error there is no process.
func (t *Torch) ask(job any, limit time.Duration) (said answer, err error) {
	t.lock.Lock()
	talk := t.talk
	t.lock.Unlock()
	if talk == nil {
		return said, errEnded
	}
	if err = talk.Ask(job, &said, limit); err == nil && said.Fault != "" {
		err = errors.New(output.Line(said.Fault))
	}
	if err != nil {
		err = errors.Join(err, talk.Close())
		t.lock.Lock()
		t.talk = nil
		t.lock.Unlock()
	}
	return said, err
}

func (t *Torch) jobOf(p *operator.Problem, protocol device.Protocol) job {
	j := job{Ordinal: t.ordinal, Names: []string{}, TF32: p.Math != "fp32"}
	if protocol.Conditions.L2 == device.Cold {
		j.Flush = 2 * p.Limits.L2Bytes
	}
	for _, name := range t.names {
		if name != EagerFP32 || p.Math != "fp32" && p.Operator.MathAsk != nil { // else the same as eager
			j.Names = append(j.Names, name)
		}
	}
	j.Calls = CallsOf(p)
	return j
}

// CallsOf are the calls that compute a problem, of uniform numbers.
func CallsOf(p *operator.Problem) (calls []Call) {
	for _, known := range p.Torch() {
		calls = append(calls, callOf(known, ""))
	}
	return calls
}

// Parameters are a problem's: a value, or a list of a parameter's components.
func Parameters(p *operator.Problem) map[string]any {
	all := map[string]any{}
	for _, s := range p.Operator.Parameters {
		names := s.Names
		if s.Type == operator.ExpressionParameter { // behind it stands which tensors it names
			names = names[:1]
		}
		all[s.Name] = plain(lists.Of(names, func(name string) expr.Value { return p.Values[name] }))
	}
	return all
}

func callOf(p operator.TorchProblem, left string) Call {
	c := Call{Function: p.Function, Tensors: map[string]Tensor{}, Values: map[string]any{}}
	for name, a := range p.Tensors {
		t := Tensor{Is: a.Name, Shape: a.Shape, Type: a.Type, Order: a.Axes(), High: 1}
		if left != "" {
			t.File = filepath.Join(left, answers.InputName(a))
		}
		if a.Role == operator.Weight {
			t.Low, t.High = -a.Scale, a.Scale
		}
		c.Tensors[name] = t
	}
	for name, values := range p.Values {
		c.Values[name] = plain(values)
	}
	for name, extents := range p.Shapes {
		c.Values[name] = extents
	}
	return c
}

func plain(values []expr.Value) any {
	if len(values) == 1 {
		return values[0]
	}
	return values
}

// session is PyTorch with a problem.
type session struct {
	torch *Torch
	said  answer
	last  string // how --set has channels last, where they are not
}

// Names are the ways that work here.
func (s *session) Names() []string { return s.said.Names }

// Left says of the other ways why they are left out.
func (s *session) Left() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(s.said.Left)) {
		all = append(all, output.Line(fmt.Sprintf("%s is left out: %s", name, s.said.Left[name])))
	}
	for _, name := range slices.Sorted(maps.Keys(s.said.Unlike)) {
		all = append(all, output.Line(fmt.Sprintf("the output of %s was not compared: %s", name, s.said.Unlike[name])))
	}
	return all
}

// Outputs are how far those of a way are from the winner's.
func (s *session) Outputs(name string) *final.Outputs { return s.said.Outputs[name] }

// Advice is the layout in which PyTorch is faster than the winner, so that the winner may be faster there, too.
func (s *session) Advice(all []final.Compared) (advice []string) {
	for _, c := range all {
		if c.Name == ChannelsLast && s.last != "" && c.CI95[1] < 1 {
			advice = append(advice, fmt.Sprintf("PyTorch in channels-last is %.2fx faster; try --set %s", 1/c.Speedup, s.last))
		}
	}
	return advice
}

// Time is the median of a turn's calls, in milliseconds.
func (s *session) Time(_ context.Context, name string) (float64, error) {
	said, err := s.torch.ask(turn{name, turnSamples}, turnLimit)
	if err != nil {
		return 0, fmt.Errorf("PyTorch: %w", err)
	}
	if said.MS <= 0 {
		return 0, fmt.Errorf("PyTorch says that %s takes %v ms", name, said.MS)
	}
	return said.MS, nil
}

// Close frees the problem's tensors.
func (s *session) Close() error {
	s.torch.forget()
	_, err := s.torch.ask(end, turnLimit)
	return err
}
