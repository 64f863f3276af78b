// Package family finds a few kernels for many shapes of an operator, and a decision tree that chooses among them.
//
// A Plan says which dimensions are free, which shapes are samples and which are held out. Tune searches each sample
// twice: for kernels that take the free dimensions at run time, and for kernels made for this shape alone. Candidates
// are kernels that won a search or were nearly as fast as the winner; all candidates are timed at every sample. Tune
// keeps the smallest set of candidates that is nowhere slower than allowed, and grows a decision tree that chooses
// among them. Held-out shapes show how much slower the chosen kernels are than the best kernel that a search finds for
// such a shape alone. Tune returns a Family, a document that holds the kernels and the decision tree.
package family

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/input"
	"autotune/internal/jsonerror"
	"autotune/internal/jsonobject"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/final"
)

// Schema names the document and its version. The version in Schema stays the same if a field is added.
const Schema = "autotune/family/1"

// Family holds kernels for many shapes, and the tree that chooses among them. docs/families.md describes the fields.
type Family struct {
	Schema      string              `json:"schema"`
	Tool        string              `json:"tool,omitempty"`
	Operator    string              `json:"operator"`
	Shapes      string              `json:"shapes"` // the shapes to serve, in the syntax of ParseShapes
	Dimensions  []string            `json:"dimensions"`
	Free        []string            `json:"free"` // the dimensions with several values
	Parameters  operator.Parameters `json:"parameters"`
	Math        string              `json:"math"`
	MathBy      string              `json:"math_by,omitempty"`
	Device      device.Info         `json:"device"`
	Target      string              `json:"target"`
	Conditions  device.Conditions   `json:"conditions,omitzero"`
	Protocol    device.Protocol     `json:"protocol,omitzero"` // protocol of the timings, without conditions
	Reference   string              `json:"reference_digest"`  // digest of the first sample's reference
	MaxSlowdown float64             `json:"max_slowdown"`      // as the user asked for
	Entries     []Entry             `json:"entries"`
	Tree        *Node               `json:"tree"`
	Samples     []Sample            `json:"samples"`
	HeldOut     []Sample            `json:"held_out"`
	Regret      Regret              `json:"regret"`
	LeftOut     []LeftOut           `json:"left_out,omitempty"`
	Seconds     float64             `json:"seconds"`
	At          time.Time           `json:"at"`
}

type Entry struct {
	space.Configuration
	Shape  []int64  `json:"shape"`           // the shape that it is compiled for
	Where  []string `json:"where,omitempty"` // conditions on other shapes that it serves; none: it serves all
	Digest string   `json:"kernel_digest"`
	// MaxAbsError is the largest difference between the entry's output and the reference's, over all shapes at which
	// the entry was timed.
	MaxAbsError float64      `json:"max_abs_error"`
	Gates       *final.Gates `json:"gates,omitempty"`
}

// Sample holds a shape and the times of kernels at that shape in milliseconds, all measured in turns.
type Sample struct {
	Shape []int64 `json:"shape"`
	// OwnBest is the time of the fastest kernel that was found for the shape, including kernels made for the shape
	// alone.
	OwnBest       trial.Timing        `json:"own_best_ms"`
	Configuration space.Configuration `json:"own_best"`
	General       *trial.Timing       `json:"general_ms,omitempty"` // the operator's plain kernel
	Times         []*trial.Timing     `json:"ms"`                   // times of the entries; null: not served
	Chosen        int                 `json:"chosen"`               // index of the chosen entry; -1: the general kernel
	Slowdown      float64             `json:"slowdown"`             // slowdown of the chosen kernel against OwnBest
}

type LeftOut struct {
	Shape  []int64 `json:"shape"`
	Reason string  `json:"reason"`
}

// Score summarizes the slowdowns of the chosen kernels against the fastest kernel of each shape.
type Score struct {
	Worst float64 `json:"worst"`
	Mean  float64 `json:"geometric_mean"`
	Of    int     `json:"of"` // number of shapes
}

type Regret struct {
	Score
	Samples Score `json:"samples"` // score at the samples, from which the tree was grown
}

var bound = input.Bound{Kind: "a family document", Bytes: 16 << 20, Values: 1_000_000, Depth: 64, Items: 10_000}

// Read reads a family document or a JSON list of them.
func Read(r io.Reader) (list []*Family, err error) {
	data, err := bound.Read(r)
	target := any(&list)
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		list = []*Family{nil}
		target = &list[0]
	}
	if err == nil {
		err = cmp.Or(bound.JSON(data), jsonobject.Exact(data, target))
	}
	if err == nil {
		if err = json.Unmarshal(data, target); err != nil {
			err = jsonerror.Describe(err, data, 0)
		}
	}
	for i := 0; err == nil && i < len(list); i++ {
		err = list[i].check()
	}
	if err != nil {
		return nil, fmt.Errorf("family: %w", err)
	}
	return list, nil
}

func (f *Family) check() error {
	switch {
	case f == nil:
		return errors.New("it holds no family")
	case f.Schema != Schema:
		return fmt.Errorf("its schema is %q; want %q", f.Schema, Schema)
	case f.Operator == "" || len(f.Dimensions) == 0 || f.Tree == nil:
		return errors.New("it names no operator, no dimensions or no tree")
	case !containsAll(f.Dimensions, f.Free):
		return fmt.Errorf("its free dimensions %q are not all of %v", f.Free, f.Dimensions)
	}
	if shapes, err := ParseShapes(f.Shapes); err != nil || len(shapes) != len(f.Dimensions) {
		return fmt.Errorf("its shapes `%.80s` are not %d ranges", f.Shapes, len(f.Dimensions))
	}
	for _, s := range slices.Concat(f.Samples, f.HeldOut) {
		if n := len(f.Entries); len(s.Times) != n || len(s.Shape) != len(f.Dimensions) || s.Chosen < -1 || s.Chosen >= n {
			return fmt.Errorf("its sample %s does not fit its %d entries", operator.FormatShape(s.Shape), n)
		}
	}
	return f.Tree.check(f, 0)
}

func (n *Node) check(f *Family, depth int) error {
	switch {
	case n == nil || depth > 16:
		return errors.New("its tree lacks a branch, or is too deep")
	case n.If == "":
		if slices.ContainsFunc(n.Entries, func(e int) bool { return e < 0 || e >= len(f.Entries) }) {
			return fmt.Errorf("its tree names entries %v of %d", n.Entries, len(f.Entries))
		}
		return nil
	}
	e, err := expr.Parse(n.If)
	if err != nil {
		return err
	}
	if !containsAll(f.Dimensions, e.Names()) {
		return fmt.Errorf("its tree asks for %q, of %v", e.Names(), f.Dimensions)
	}
	return errors.Join(n.Then.check(f, depth+1), n.Else.check(f, depth+1))
}

func WriteJSON(w io.Writer, families []*Family) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if len(families) == 1 {
		return e.Encode(families[0])
	}
	return e.Encode(families)
}
