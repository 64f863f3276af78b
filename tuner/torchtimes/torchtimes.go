// Package torchtimes measures how long PyTorch takes for a problem on the GPU of a search, and compares PyTorch's
// outputs with the winner's. PyTorch runs in the user's python3, and is timed in turns with the winner.
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
	"sync/atomic"
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

// program returns the Python program that times PyTorch.
var program = sync.OnceValue(func() python.Program {
	calls := string(loaders.File("python/torch_calls.py"))
	return python.Program{Code: driver, Modules: map[string]string{"torch_calls": calls}}
})

// Eager, EagerFP32 and Compile name the ways to call PyTorch's function.
const (
	Eager     = "torch_eager"      // called directly
	EagerFP32 = "torch_eager_fp32" // called with TF32 off
	Compile   = "torch_compile"    // called through torch.compile
)

// Ways returns all ways to call PyTorch.
func Ways() []string { return []string{Eager, EagerFP32, Compile} }

// beginLimit is how long PyTorch may take to import and to compile before the first turn, and turnLimit how long one
// turn may take.
const (
	beginLimit = 5 * time.Minute
	turnLimit  = time.Minute
)

// CompileWait is how long a search waits at its end for torch.compile if the user did not ask for the time of
// torch.compile. If the search's compilers need all cores, torch.compile ends 9 to 12 s after the search, for one
// function that it has not compiled before (H200, 16 cores, 2026-11-28).
const CompileWait = 12 * time.Second

// turnSamples is the number of timed calls in a turn.
const turnSamples = 12

// Torch times PyTorch on a GPU, and calls PyTorch only in the ways that the user wants. One Python process serves one
// problem after another, until Close is called or this program ends.
type Torch struct {
	ordinal int
	names   []string
	wait    time.Duration // time for torch.compile, once the winner is known; 0: no limit

	lock     sync.Mutex
	talk     *python.Conversation // nil: no process runs
	prepared *preparation         // nil: no problem is prepared
}

// preparation is a problem for which PyTorch is being prepared, or is ready.
type preparation struct {
	job   job
	ended atomic.Bool // given up before it was ready
	done  chan struct{}
	said  answer
	err   error
}

// New returns a Torch, which imports PyTorch when the first problem is prepared. The argument `wait` is how long
// torch.compile may take after the search has found its winner; 0 means no limit.
func New(ordinal int, wait time.Duration, names ...string) *Torch {
	return &Torch{ordinal: ordinal, names: names, wait: wait}
}

// Close ends the Python process.
func (t *Torch) Close() error {
	if before := t.prepares(nil); before != nil {
		t.end(before)
	}
	return t.kill()
}

// prepares makes `now` the current preparation, and returns the previous one.
func (t *Torch) prepares(now *preparation) (before *preparation) {
	t.lock.Lock()
	defer t.lock.Unlock()
	before, t.prepared = t.prepared, now
	return before
}

// job describes a problem to the Python program.
type job struct {
	Ordinal int      `json:"ordinal"`
	Names   []string `json:"names"`
	Calls   []Call   `json:"calls"`
	Flush   int64    `json:"flush"` // bytes to write before each sample, to empty the L2 cache
	TF32    bool     `json:"tf32"`  // TF32 for matrix products, which PyTorch computes in fp32 by default
}

// comparison tells the Python program which files hold the winner's inputs and output, so that it can compare PyTorch's
// outputs with the winner's.
type comparison struct {
	Names  []string `json:"names"` // ways whose outputs are compared
	Fill   []Call   `json:"fill"`
	Output *Tensor  `json:"output"` // nil: not compared
	ATol   float64  `json:"atol"`
	RTol   float64  `json:"rtol"`
}

// Call is a call of a PyTorch function, with PyTorch's names for the arguments.
type Call struct {
	Function string            `json:"function"`
	Tensors  map[string]Tensor `json:"tensors"`
	Values   map[string]any    `json:"values"` // a value, or a list of a parameter's components
}

// Tensor describes a tensor of PyTorch, which is read from a file or, without a file, filled with uniform random
// numbers.
type Tensor struct {
	Is    string        `json:"is"` // the operator's name for it
	Shape []int64       `json:"shape"`
	Type  operator.Type `json:"type"`
	Order []int         `json:"order"` // axes in memory, from the outermost to the innermost
	File  string        `json:"file"`
	Low   float64       `json:"low"`
	High  float64       `json:"high"`
}

// turn is the request to the Python program for the samples of one turn.
type turn struct {
	Name    string `json:"name"`
	Samples int    `json:"samples"`
}

// answer is what the Python program returns to a request.
type answer struct {
	Fault  string            `json:"fault"`
	Absent string            `json:"absent"` // why PyTorch or its GPU is missing
	Names  []string          `json:"names"`  // ways that can be timed
	Left   map[string]string `json:"left"`   // why the other ways cannot be timed
	MS     float64           `json:"ms"`
	// Outputs compares the output of each way to call PyTorch with the winner's output; Unlike says for each other way
	// why its output was not compared.
	Outputs map[string]*final.Outputs `json:"outputs"`
	Unlike  map[string]string         `json:"unlike"`
}

// Prepare starts preparing a problem in the background: the Python program imports PyTorch, makes tensors and calls
// PyTorch's function once in each way, such as with torch.compile, so that all code is compiled. The preparation of a
// problem takes seconds, but uses the GPU only briefly.
func (t *Torch) Prepare(ctx context.Context, p *operator.Problem, protocol device.Protocol) {
	if len(p.Torch()) > 0 {
		t.prepare(ctx, t.jobOf(p, protocol))
	}
}

// prepare begins to prepare PyTorch for a problem. If PyTorch is still being prepared for another problem, prepare
// kills the process, since torch.compile cannot be interrupted. If the preparation of the previous problem has
// succeeded, the same Python process serves the new problem.
func (t *Torch) prepare(ctx context.Context, j job) *preparation {
	now := &preparation{job: j, done: make(chan struct{})}
	before := t.prepares(now)
	if before != nil && reflect.DeepEqual(before.job, j) {
		t.prepares(before)
		return before
	}
	go func() {
		defer close(now.done)
		if before != nil && t.end(before) {
			_, _ = t.ask(struct{}{}, turnLimit) // a process that fails is started again
		}
		now.said, now.err = t.begin(ctx, now)
	}()
	return now
}

// end stops waiting for a preparation of PyTorch, and reports whether the preparation had already succeeded.
func (t *Torch) end(p *preparation) (ready bool) {
	select {
	case <-p.done:
		return p.err == nil
	default:
	}
	p.ended.Store(true)
	_ = t.kill()
	<-p.done
	return false
}

// begin starts the Python process, unless it runs already, and sends it the problem.
func (t *Torch) begin(ctx context.Context, p *preparation) (said answer, err error) {
	t.lock.Lock()
	if p.ended.Load() {
		err = errEnded
	} else if t.talk == nil {
		t.talk, err = program().Begin(ctx)
	}
	t.lock.Unlock()
	if errors.Is(err, python.ErrMissing) {
		return said, &final.AbsentError{Err: err}
	}
	if err == nil {
		said, err = t.ask(p.job, beginLimit)
	}
	if err == nil && said.Absent != "" {
		err = &final.AbsentError{Err: errors.New(output.Line(said.Absent))}
	}
	return said, err
}

// ready prepares a problem, and waits until PyTorch is ready to compute it. If torch.compile takes too long, ready
// prepares the problem again without it.
func (t *Torch) ready(ctx context.Context, j job) (said answer, err error) {
	var late <-chan time.Time
	if t.wait > 0 && slices.Contains(j.Names, Compile) {
		late = time.After(t.wait)
	}
	p := t.prepare(ctx, j)
	select {
	case <-p.done:
		return p.said, p.err
	case <-ctx.Done():
		return said, ctx.Err()
	case <-late:
	}
	j.Names = lists.Where(j.Names, func(name string) bool { return name != Compile })
	if said, err = t.ready(ctx, j); err == nil {
		said.Left[Compile] = "it was still compiling when the search had waited for it"
	}
	return said, err
}

// Start prepares the problem, unless Prepare has done so already, and has PyTorch's outputs compared with the winner's.
func (t *Torch) Start(ctx context.Context, p *operator.Problem, protocol device.Protocol,
	leave func() string) (_ final.Rival, err error) {
	if len(p.Torch()) == 0 {
		return nil, &final.AbsentError{Err: fmt.Errorf("op.yaml of %s names no function of PyTorch's that computes this "+
			"problem", p.Operator.Name)}
	}
	s := &session{torch: t}
	if s.said, err = t.ready(ctx, t.jobOf(p, protocol)); err == nil {
		if left := leave(); left != "" {
			err = s.compare(p, left)
		}
	}
	if err != nil {
		t.prepares(nil)
		return nil, err
	}
	return s, nil
}

// compare sends the files of the winner's inputs and output to the Python program, which compares outputs.
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

// ask sends a request to the Python process and returns its answer. If ask returns an error, it has ended the Python
// process.
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
		_ = t.kill()
	}
	return said, err
}

// kill ends the Python process, if one runs.
func (t *Torch) kill() error {
	t.lock.Lock()
	talk := t.talk
	t.talk = nil
	t.lock.Unlock()
	if talk == nil {
		return nil
	}
	return talk.Close()
}

func (t *Torch) jobOf(p *operator.Problem, protocol device.Protocol) job {
	j := job{Ordinal: t.ordinal, Names: []string{}, TF32: p.Math != "fp32"}
	if protocol.Conditions.L2 == device.Cold {
		j.Flush = 2 * p.Limits.L2Bytes
	}
	for _, name := range t.names {
		if name != EagerFP32 || p.Math != "fp32" && p.Operator.MathAsk != nil { // otherwise EagerFP32 would equal Eager
			j.Names = append(j.Names, name)
		}
	}
	j.Calls = CallsOf(p)
	return j
}

// CallsOf returns the PyTorch calls that compute a problem, whose inputs are uniform random numbers.
func CallsOf(p *operator.Problem) (calls []Call) {
	for _, known := range p.Torch() {
		calls = append(calls, callOf(known, ""))
	}
	return calls
}

// Parameters returns the values of a problem's parameters, where each value is a number or a list of components.
func Parameters(p *operator.Problem) map[string]any {
	all := map[string]any{}
	for _, s := range p.Operator.Parameters {
		names := s.Names
		if s.Type == operator.ExpressionParameter { // an expression's other names are of its tensors
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

// session is a problem for which PyTorch is ready.
type session struct {
	torch *Torch
	said  answer
}

// Names returns the names of the ways to call PyTorch that can be timed.
func (s *session) Names() []string { return s.said.Names }

// Left says which ways to call PyTorch were not timed and which outputs were not compared, each with the reason.
func (s *session) Left() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(s.said.Left)) {
		all = append(all, output.Line(fmt.Sprintf("%s is left out: %s", name, s.said.Left[name])))
	}
	for _, name := range slices.Sorted(maps.Keys(s.said.Unlike)) {
		all = append(all, output.Line(fmt.Sprintf("the output of %s was not compared: %s", name, s.said.Unlike[name])))
	}
	return all
}

// Outputs returns the comparison of PyTorch's output, when called in the given way, with the winner's output.
func (s *session) Outputs(name string) *final.Outputs { return s.said.Outputs[name] }

// Time has PyTorch's function called several times in the way called `name`, and returns the median time of these calls
// in milliseconds.
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

func (s *session) Close() error {
	s.torch.prepares(nil)
	_, err := s.torch.ask(struct{}{}, turnLimit)
	return err
}
