package space

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"autotune/internal/jsonerror"
	"autotune/internal/jsonobject"
	"autotune/space/expr"
)

// Published is a tuning space read from a document that others published.
type Published struct {
	Name      string // may be empty
	Part      Part   // its template is empty
	Valid     int64  // how many configurations are said to be valid, or -1
	Cartesian float64
}

// ParsePublished reads tuning spaces from JSON. It knows two forms:
//
//   - {"params": {name: [values]}, "constraints": [expressions]}, or a list of
//     such objects, with optional "name", "valid" and "cartesian";
//   - the T1 documents of Kernel Tuner and others: {"ConfigurationSpace":
//     {"TuningParameters": [{"Name", "Values"}], "Conditions": [{"Expression"}]}},
//     where Values is a list, or a string that holds a Python list.
//
// Tunables keep the order in which the document names them.
func ParsePublished(data []byte) ([]Published, error) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, malformed(data, err)
		}
		all := make([]Published, len(list))
		for i, item := range list {
			var err error
			if all[i], err = parsePublished(item); err != nil {
				return nil, fmt.Errorf("space %d: %w", i+1, err)
			}
		}
		return all, nil
	}
	one, err := parsePublished(data)
	if err != nil {
		return nil, err
	}
	return []Published{one}, nil
}

func malformed(data []byte, err error) error {
	return fmt.Errorf("malformed JSON at %w", jsonerror.Describe(err, data, 0))
}

type document struct {
	Name        string          `json:"name"`
	Params      json.RawMessage `json:"params"`
	Constraints []string        `json:"constraints"`
	Valid       *int64          `json:"valid"`
	Cartesian   float64         `json:"cartesian"`
	T1          *t1Space        `json:"ConfigurationSpace"`
	General     struct {
		BenchmarkName string
	} `json:"General"`
}

func parsePublished(data []byte) (Published, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return Published{}, malformed(data, err)
	}
	p := Published{Name: d.Name, Valid: -1, Cartesian: d.Cartesian}
	if d.Valid != nil {
		p.Valid = *d.Valid
	}
	var err error
	switch {
	case d.T1 != nil:
		if p.Name == "" {
			p.Name = d.General.BenchmarkName
		}
		p.Part, err = d.T1.part()
	case d.Params != nil:
		p.Part.Constraints = d.Constraints
		p.Part.Tunables, err = parseParams(d.Params)
	default:
		err = errors.New(`neither "params" nor "ConfigurationSpace" found: this is no tuning space`)
	}
	return p, err
}

// parseParams reads an object of lists and keeps its order.
func parseParams(data []byte) ([]Tunable, error) {
	if data[0] != '{' {
		return nil, errors.New(`"params" is no object: write {"name": [values]}`)
	}
	var tunables []Tunable
	err := jsonobject.Read(data, func(name string, list json.RawMessage) error {
		var values []expr.Value
		if err := json.Unmarshal(list, &values); err != nil {
			return fmt.Errorf("tunable %s: its values are no list of numbers, bools and strings: %w", name, err)
		}
		tunables = append(tunables, Tunable{Name: name, Values: values})
		return nil
	})
	return tunables, err
}

// t1Space is the part of a T1 document that describes the space.
type t1Space struct {
	TuningParameters []struct {
		Name   string
		Values json.RawMessage
	}
	Conditions []struct{ Expression string }
}

func (t *t1Space) part() (Part, error) {
	var p Part
	for i, tp := range t.TuningParameters {
		if tp.Name == "" {
			return p, fmt.Errorf("TuningParameters[%d] has no Name", i)
		}
		values, err := t1Values(tp.Values)
		if err != nil {
			return p, fmt.Errorf("tunable %s: Values: %w", tp.Name, err)
		}
		p.Tunables = append(p.Tunables, Tunable{Name: tp.Name, Values: values})
	}
	for _, c := range t.Conditions {
		p.Constraints = append(p.Constraints, c.Expression)
	}
	return p, nil
}

// t1Values reads a JSON list, or a JSON string that holds a Python list.
func t1Values(raw json.RawMessage) ([]expr.Value, error) {
	var source string
	if json.Unmarshal(raw, &source) == nil {
		return expr.ParseList(source)
	}
	var values []expr.Value
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("neither a list nor a string that holds one: %w", err)
	}
	return values, nil
}

// ReadPublished is ParsePublished for a reader.
func ReadPublished(r io.Reader) ([]Published, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return ParsePublished(data)
}

// WithTemplate returns the part under a template's name.
func (p Published) WithTemplate(template string) Part {
	part := p.Part
	part.Template = template
	part.Tunables = slices.Clone(part.Tunables)
	return part
}
