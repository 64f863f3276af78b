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
	"slices"
	"time"

	"autotune/internal/output"
	"autotune/internal/python"
	"autotune/space/expr"
	"autotune/tuner/device"
	"autotune/tuner/device/answers"
	"autotune/tuner/final"
	"autotune/tuner/operator"
)

//go:embed times.py
var driver string

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

// turnSamples are the calls of a turn.
const turnSamples = 12

// Torch is PyTorch on a GPU, called in some of the ways. One process of it serves one problem after
// another, and ends with this program.
type Torch struct {
	ordinal int
	names   []string
	talk    *python.Conversation // nil: none, or the last one failed
}

// Ahead is PyTorch, which is imported while the caller does something else.
func Ahead(ctx context.Context, ordinal int, names ...string) *Torch {
	t := &Torch{ordinal: ordinal, names: names}
	t.talk, _ = python.Program{Code: driver}.Begin(ctx) // Start tries again, and says what fails
	return t
}

// job is a problem for the driver.
type job struct {
	Ordinal int      `json:"ordinal"`
	Names   []string `json:"names"`
	Calls   []call   `json:"calls"`
	Output  *tensor  `json:"output"` // the winner's; nil: it is not compared
	ATol    float64  `json:"atol"`
	RTol    float64  `json:"rtol"`
	Flush   int64    `json:"flush"` // bytes to write before each sample
	TF32    bool     `json:"tf32"`  // of products of matrices, which PyTorch computes in fp32 unless told otherwise
}

// call is a function with its arguments by PyTorch's names.
type call struct {
	Function string            `json:"function"`
	Tensors  map[string]tensor `json:"tensors"`
	Values   map[string]any    `json:"values"` // a value, or a list of a parameter's components
}

// tensor is in a file; without one, of uniform numbers.
type tensor struct {
	Shape []int64       `json:"shape"`
	Type  operator.Type `json:"type"`
	Order []int         `json:"order"` // its axes from the outermost in memory to the innermost
	File  string        `json:"file"`
	Low   float64       `json:"low"`
	High  float64       `json:"high"`
}

// look asks whether PyTorch and a GPU are there.
type look struct {
	Look bool `json:"look"`
}

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

// Start calls the problem's function once in each way, and compares outputs.
func (t *Torch) Start(ctx context.Context, p *operator.Problem, protocol device.Protocol, leave func() string) (_ final.Rival, err error) {
	if len(p.Torch()) == 0 {
		return nil, fmt.Errorf("op.yaml of %s names no function of PyTorch's that computes this problem", p.Operator.Name)
	}
	if t.talk == nil {
		if t.talk, err = (python.Program{Code: driver}).Begin(ctx); err != nil {
			return nil, err
		}
	}
	if _, err = t.ask(look{true}, beginLimit); err != nil {
		return nil, err
	}
	j := t.jobOf(p, protocol, leave())
	said, err := t.ask(j, beginLimit)
	if err != nil {
		return nil, err
	}
	for _, o := range said.Outputs {
		o.ATol, o.RTol = j.ATol, j.RTol
	}
	return &session{t, said, p.ChannelsLast()}, nil
}

// ask hands over a job. After an error there is no process.
func (t *Torch) ask(job any, limit time.Duration) (said answer, err error) {
	if t.talk == nil {
		return said, errors.New("PyTorch has ended")
	}
	if err = t.talk.Ask(job, &said, limit); err == nil && said.Fault != "" {
		err = errors.New(output.Line(said.Fault))
	}
	if err != nil {
		err = errors.Join(err, t.talk.Close())
		t.talk = nil
	}
	return said, err
}

func (t *Torch) jobOf(p *operator.Problem, protocol device.Protocol, left string) job {
	j := job{Ordinal: t.ordinal, Names: []string{}, TF32: p.Math != "fp32"}
	if protocol.Conditions.L2 == device.Cold {
		j.Flush = 2 * p.Limits.L2Bytes
	}
	for _, name := range t.names {
		if name != EagerFP32 || p.Math != "fp32" && p.Operator.MathAsk != nil { // else the same as eager
			j.Names = append(j.Names, name)
		}
	}
	for _, known := range p.Torch() {
		j.Calls = append(j.Calls, callOf(known, left))
	}
	for _, a := range p.Arguments {
		if left != "" && j.Output == nil && a.Role.Compared() && a.Elements > 0 {
			j.Output = &tensor{Shape: a.Shape, Type: a.Type, Order: a.Axes(), File: filepath.Join(left, answers.OutputName(a))}
			j.ATol, j.RTol = a.ATol, a.RTol
		}
	}
	return j
}

func callOf(p operator.TorchProblem, left string) call {
	c := call{Function: p.Function, Tensors: map[string]tensor{}, Values: map[string]any{}}
	for name, a := range p.Tensors {
		t := tensor{Shape: a.Shape, Type: a.Type, Order: a.Axes(), High: 1}
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
	if s.torch.talk == nil {
		return nil
	}
	_, err := s.torch.ask(struct{}{}, turnLimit)
	return err
}
