// Package torchmath asks PyTorch on this machine which math mode it computes a problem in. Which way cuDNN rounds the
// factors of a convolution depends on the kernel that it picks for the problem. So PyTorch answers the problem
// itself, with factors that lie on ties. A part of its answer is compared with what each way of rounding gives.
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

// driver is the program that asks.
//
//go:embed ask.py
var driver string

// How long PyTorch may take: to say what is installed, and to import, load cuDNN and answer.
const (
	installedLimit = 10 * time.Second
	askLimit       = time.Minute
)

// GPU is the device that a problem is asked on.
type GPU struct {
	Ordinal int
	Name    string
}

// Mode is what PyTorch computes in.
type Mode struct {
	Name string // one of the operator's
	By   string // who says so, as "as PyTorch 2.11.0 with cuDNN 91002 does on this GPU"
}

type Asker struct {
	CacheDir string // where answers are kept; "": nowhere
	Unknown  func() // is called, if not nil, before PyTorch is imported, which takes seconds
}

type job struct {
	Ask        bool                    `json:"ask"` // else only what is installed
	Operator   string                  `json:"operator"`
	Source     string                  `json:"source"` // Python of the operator's
	File       string                  `json:"file"`   // its name, for messages
	Ordinal    int                     `json:"ordinal"`
	Tensors    map[string][]int64      `json:"tensors"`
	Orders     map[string][]int        `json:"orders,omitempty"` // in memory, of those that lie otherwise than their shapes say
	Parameters map[string][]expr.Value `json:"parameters"`       // a list of components each
}

// answer is what the driver says: which versions there are, and how far PyTorch's
// answer is from that of each way of rounding.
type answer struct {
	Fault    string             `json:"fault,omitempty"`
	Torch    string             `json:"torch,omitempty"`
	CuDNN    string             `json:"cudnn,omitempty"`
	Switches []string           `json:"switches,omitempty"` // of the environment
	Errors   map[string]float64 `json:"errors,omitempty"`
}

// Asks tells whether PyTorch is asked for a problem's mode: op.yaml must have `ask`, and the
// factors must be floats, which may be rounded.
func Asks(p *operator.Problem) bool {
	exact := func(a operator.Argument) bool { return a.Role.Filled() && a.Type != operator.F32 }
	return p.Operator.MathAsk != nil && !slices.ContainsFunc(p.Arguments, exact)
}

// Ask finds the mode, once a problem, version and GPU. The error says why it is not known.
func (a Asker) Ask(ctx context.Context, p *operator.Problem, on GPU) (Mode, error) {
	j := jobOf(p, on)
	installed, err := j.run(ctx, installedLimit)
	if err != nil {
		return Mode{}, err
	}
	dir := a.CacheDir
	if installed.Torch == "" {
		dir = "" // nothing is kept of an unknown version
	}
	key, _ := json.Marshal([]any{keptVersion, driver, j, p.Shape, on.Name, installed}) // of texts and integers
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
		_ = kept.PutBytes(id, text) // it only costs asking again
	}
	return modeOf(said, p.Operator.MathModes)
}

// keptVersion is raised when kept answers get another meaning.
const keptVersion = 1

// Question is what the driver is asked of a problem, for scripts that ask it themselves; nil: PyTorch is not asked.
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

// clear is how much nearer than every other way the nearest must be. Errors of fp32 sums are less
// than a hundredth of those of a wrong rounding.
const clear = 4

// modeOf is the mode whose rounding PyTorch's answer is nearest to.
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
