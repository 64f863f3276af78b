// Package torchmath finds out in which math mode PyTorch computes a problem on this machine. The way in which cuDNN
// rounds the factors of a convolution depends on the kernel that it chooses for the problem. To find out the mode,
// package torchmath has PyTorch compute the problem with factors that lie halfway between two values of a reduced
// precision. Package torchmath compares a part of PyTorch's result with the results of each way to round.
package torchmath

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/cache"

	"autotune/device/compile"
	"autotune/internal/output"
	"autotune/internal/python"
	"autotune/internal/scratch"
	"autotune/operator"
	"autotune/space/expr"
)

// driver is the Python program that runs PyTorch.
//
//go:embed ask.py
var driver string

// installedLimit is how long PyTorch may take to report its version and GPU, and askLimit how long it may take to
// import, to load cuDNN and to compute the answer.
const (
	installedLimit = 10 * time.Second
	askLimit       = time.Minute
)

// GPU is the device on which PyTorch computes a problem.
type GPU struct {
	Ordinal int
	Name    string
}

// Mode is the math mode in which PyTorch computes a problem.
type Mode struct {
	Name string // one of the operator's modes
	By   string // who says so, as "as PyTorch 2.11.0 with cuDNN 91002 does on this GPU"
}

type Asker struct {
	CacheDir string // where answers are kept; "": nowhere
	Unknown  func() // called, if not nil, before PyTorch is imported, which takes seconds
}

type job struct {
	Ask        bool                    `json:"ask"` // false: only report what is installed
	Operator   string                  `json:"operator"`
	Source     string                  `json:"source"` // the operator's Python code
	File       string                  `json:"file"`   // its file name, for messages
	Ordinal    int                     `json:"ordinal"`
	Tensors    map[string][]int64      `json:"tensors"`
	Orders     map[string][]int        `json:"orders,omitempty"` // axes in memory, if they are not in the shape's order
	Parameters map[string][]expr.Value `json:"parameters"`       // a list of components for each parameter
}

// answer is what the Python program returns: the installed versions, and the error of PyTorch's result against each way
// to round.
type answer struct {
	Fault    string             `json:"fault,omitempty"`
	Torch    string             `json:"torch,omitempty"`
	CuDNN    string             `json:"cudnn,omitempty"`
	Switches []string           `json:"switches,omitempty"` // environment variables that are set
	Errors   map[string]float64 `json:"errors,omitempty"`
}

// Asks reports whether PyTorch is asked for a problem's math mode. The operator's op.yaml must contain `ask`, and the
// factors must be fp32, since PyTorch does not round other factors.
func Asks(p *operator.Problem) bool {
	exact := func(a operator.Argument) bool { return a.Role.Filled() && a.Type != operator.F32 }
	return p.Operator.MathAsk != nil && !slices.ContainsFunc(p.Arguments, exact)
}

// Ask returns the mode in which PyTorch computes a problem. Ask stores the answer for each problem, version of PyTorch
// and GPU, and returns the stored answer the next time. If Ask cannot find out the math mode, its error says why.
func (a Asker) Ask(ctx context.Context, p *operator.Problem, on GPU) (Mode, error) {
	j := jobOf(p, on)
	installed, err := j.run(ctx, installedLimit)
	if err != nil {
		return Mode{}, err
	}
	dir := a.CacheDir
	if installed.Torch == "" {
		dir = "" // answers of an unknown version are not kept
	}
	key, _ := json.Marshal([]any{keptVersion, driver, j, p.Shape, on.Name, installed}) // texts and integers only
	kept, id := compile.Kept(dir), cache.ActionID(sha256.Sum256(key))
	var said answer
	if kept != nil {
		if text, _, err := kept.GetBytes(id); err == nil && json.Unmarshal(text, &said) == nil {
			return modeOf(said, p.Operator.MathModes)
		}
	}
	if a.Unknown != nil {
		a.Unknown()
	}
	j.Ask = true
	if said, err = j.run(ctx, askLimit); err != nil {
		return Mode{}, err
	}
	if text, err := json.Marshal(said); kept != nil && err == nil {
		_ = kept.PutBytes(id, text) // if it fails, PyTorch is asked again next time
	}
	return modeOf(said, p.Operator.MathModes)
}

// keptVersion is raised when the meaning of stored answers changes.
const keptVersion = 1

// Question returns the question that asks PyTorch about a problem, for use in scripts, or nil if PyTorch cannot be
// asked about the problem.
func Question(p *operator.Problem) any {
	if !Asks(p) {
		return nil
	}
	j := jobOf(p, GPU{})
	j.Ask = true
	return j
}

func jobOf(p *operator.Problem, on GPU) job {
	j := job{
		Operator: p.Operator.Name, Source: p.Operator.MathAsk.Text, File: p.Operator.MathAsk.File, Ordinal: on.Ordinal,
		Tensors: map[string][]int64{}, Orders: map[string][]int{}, Parameters: map[string][]expr.Value{},
	}
	for _, a := range p.Arguments {
		if a.Role.Filled() {
			j.Tensors[a.Name] = a.Shape
			if a.Order != nil {
				j.Orders[a.Name] = a.Order
			}
		}
	}
	for _, spec := range p.Operator.Parameters {
		for _, name := range spec.Names {
			j.Parameters[spec.Name] = append(j.Parameters[spec.Name], p.Values[name])
		}
	}
	return j
}

func (j job) run(ctx context.Context, limit time.Duration) (said answer, err error) {
	folder, err := scratch.New("torch")
	if err != nil {
		return said, err
	}
	defer folder.Close()
	err = python.Program{Code: driver, Dir: folder.Dir, Limit: limit}.Run(ctx, j, &said)
	if errors.Is(err, python.ErrTime) {
		err = fmt.Errorf("PyTorch did not answer within %v", limit)
	}
	if err == nil && said.Fault != "" {
		err = errors.New(output.Line(said.Fault))
	}
	return said, err
}

// clear is the factor by which the second smallest error must exceed the smallest one, so that the smallest error
// decides the math mode. The errors of fp32 sums are less than a hundredth of the errors that a wrongly assumed
// rounding causes.
const clear = 4

// modeOf returns the math mode whose rounding comes nearest to PyTorch's result.
func modeOf(said answer, modes []string) (Mode, error) {
	nearest, least, second := "", math.Inf(1), math.Inf(1)
	for rule, e := range said.Errors {
		if e < least {
			nearest, least, second = rule, e, least
		} else {
			second = min(second, e)
		}
	}
	who := fmt.Sprintf("PyTorch %s with cuDNN %s", output.Line(said.Torch), output.Line(said.CuDNN))
	switch {
	case nearest == "" || least*clear > second:
		return Mode{}, fmt.Errorf("%s rounds in a way that is not known here (its answer is off by %.2g at least)", who, least)
	case !slices.Contains(modes, nearest):
		return Mode{}, fmt.Errorf("%s rounds by %s, for which there is no mode", who, nearest)
	}
	return Mode{nearest, "as " + who + " does on this GPU"}, nil
}
