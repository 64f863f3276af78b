package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"autotune/internal/input"
	"autotune/internal/jsonerror"
	"autotune/internal/jsonobject"
	"autotune/internal/quote"
)

// Schema is that of a graph's document.
const Schema = "autotune/graph/1"

var graphBound = input.Bound{Kind: "a graph", Bytes: 64 << 20, Values: 8 << 20, Depth: 24}

const mostSize = 1 << 50 // elements of a tensor

// Read reads a graph and checks it: values are defined once, and before they are read.
func Read(r io.Reader) (*Graph, error) {
	data, err := graphBound.Unpack(r)
	if err == nil {
		err = graphBound.JSON(data)
	}
	g := &Graph{}
	if err == nil {
		err = jsonobject.Exact(data, g)
	}
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(g); err != nil {
		return nil, jsonerror.Describe(err, data, decoder.InputOffset())
	}
	return g, g.check()
}

func (g *Graph) check() error {
	if g.Schema != Schema {
		return fmt.Errorf("its schema is %.40q; want %q", g.Schema, Schema)
	}
	known := map[string]bool{}
	for _, t := range slices.Concat(g.Inputs, g.State) {
		if err := t.define(known); err != nil {
			return err
		}
	}
	for i := range g.Nodes {
		if err := g.Nodes[i].check(known); err != nil {
			return fmt.Errorf("node %d, %.80q: %w", i+1, g.Nodes[i].Name, err)
		}
	}
	if len(g.Outputs) == 0 {
		return fmt.Errorf("it has no outputs")
	}
	for _, name := range g.Outputs {
		if !known[name] {
			return fmt.Errorf("the output %.80q is no value of the graph", name)
		}
	}
	return nil
}

func (n *Node) check(known map[string]bool) error {
	if !quote.IsPythonName(n.Name) || known[n.Name] {
		return fmt.Errorf("its name is none in Python, or is another's too")
	}
	if len(n.Results) > 0 && n.Results[0].Name != n.Name {
		return fmt.Errorf("its first result is called %.80q; want the node's name", n.Results[0].Name)
	}
	for name := range n.Reads() {
		if !known[name] {
			return fmt.Errorf("it reads %.80q, which is defined nowhere before it", name)
		}
	}
	for _, name := range n.Mutates {
		if !known[name] {
			return fmt.Errorf("it writes %.80q, which is defined nowhere before it", name)
		}
	}
	for _, t := range n.Results {
		if err := t.define(known); err != nil {
			return err
		}
	}
	if n.Problem == nil {
		return nil
	}
	for _, in := range n.Problem.Inputs {
		if !slices.Contains(slices.Collect(n.Reads()), in.Value) {
			return fmt.Errorf("its problem reads %.80q, which is none of its arguments", in.Value)
		}
		if _, err := elements(in.Shape); err != nil {
			return err
		}
	}
	return nil
}

// define checks a value and adds it to those that are known.
func (t Tensor) define(known map[string]bool) error {
	if !quote.IsPythonName(t.Name) || known[t.Name] {
		return fmt.Errorf("the value's name %.80q is none in Python, or is another's too", t.Name)
	}
	known[t.Name] = true
	size, err := elements(t.Shape)
	if err == nil && len(t.Strides) != len(t.Shape) {
		err = fmt.Errorf("it has %d strides and %d dimensions", len(t.Strides), len(t.Shape))
	}
	if err == nil && t.Values != nil && int64(len(t.Values)) != size {
		err = fmt.Errorf("it has %d values; its shape %v has %d", len(t.Values), t.Shape, size)
	}
	if err != nil {
		return fmt.Errorf("the value %s: %w", t.Name, err)
	}
	return nil
}

// Elements is how many elements a tensor of a graph that was read has.
func (t Tensor) Elements() int64 {
	size, _ := elements(t.Shape)
	return size
}

// elements is how many elements a shape has.
func elements(shape []int64) (int64, error) {
	size := int64(1)
	for _, n := range shape {
		if n < 0 || n > 0 && size > mostSize/n {
			return 0, fmt.Errorf("%v is no shape: a size is negative, or there are more than 2^50 elements", shape)
		}
		size *= n
	}
	return size, nil
}

// Reads are the values that a call is given, some perhaps several times.
func (n *Node) Reads() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, a := range n.Arguments {
			if !a.each(yield) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(n.Keywords)) {
			if !n.Keywords[name].each(yield) {
				return
			}
		}
	}
}
