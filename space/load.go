package space

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"autotune/internal/input"
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
//     such objects, with optional "name", "valid", "cartesian", "source", "note",
//     "published_valid" and "published_cartesian";
//   - the T1 documents of Kernel Tuner and others: {"ConfigurationSpace":
//     {"TuningParameters": [{"Name", "Values"}], "Conditions": [{"Expression"}]}},
//     where Values is a list, or a string that Python makes one of (pythonList). Sections
//     about other things, such as the kernel or the search, are not looked into.
//
// Tunables keep the order in which the document names them. A key that neither
// form has is an error.
func ParsePublished(data []byte) ([]Published, error) {
	if err := publishedBound.JSON(data); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		one, err := parsePublished(data)
		return []Published{one}, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, malformed(data, err)
	}
	if len(list) == 0 {
		return nil, errors.New("the list is empty: it holds no tuning space")
	}
	all := make([]Published, len(list))
	for i, item := range list {
		// With line breaks before it, an item's errors name the document's lines.
		before := bytes.Count(data[:max(0, bytes.Index(data, item))], []byte("\n"))
		var err error
		if all[i], err = parsePublished(append(bytes.Repeat([]byte("\n"), before), item...)); err != nil {
			return nil, fmt.Errorf("space %d: %w", i+1, err)
		}
	}
	return all, nil
}

// publishedBound is what a space file may have: half a million values, which take
// less than a second to read.
var publishedBound = input.Bound{Kind: "a space file", Bytes: 8 << 20, Values: 500_000, Depth: 64}

// ReadPublished is ParsePublished for a file.
func ReadPublished(r io.Reader) ([]Published, error) {
	data, err := publishedBound.Read(r)
	if err != nil {
		return nil, err
	}
	return ParsePublished(data)
}

type document struct {
	Name        string          `json:"name"`
	Params      json.RawMessage `json:"params"`
	Constraints []string        `json:"constraints"`
	Valid       *int64          `json:"valid"`
	Cartesian   float64         `json:"cartesian"`

	Source             any `json:"source"` // these describe the document and are not used
	Note               any `json:"note"`
	PublishedValid     any `json:"published_valid"`
	PublishedCartesian any `json:"published_cartesian"`
}

// t1Document holds what a T1 document says about the space. It has a field for
// each other section that the schema, Kernel Tuner, KTT and the benchmark
// collections know.
type t1Document struct {
	ConfigurationSpace struct {
		TuningParameters []struct {
			Name          string
			Values        json.RawMessage
			Type, Default any
		}
		Conditions []struct {
			Expression string
			Parameters []string
		}
	}
	General map[string]any // where the name of the benchmark is

	Schema                                                                                     any `json:"$schema"`
	KernelSpecification, BenchmarkConfig, Search, SearchSettings, SearchSpace, Budget, Library any
}

func parsePublished(data []byte) (Published, error) {
	var form struct {
		Params json.RawMessage `json:"params"`
		T1     json.RawMessage `json:"ConfigurationSpace"`
	}
	err := json.Unmarshal(data, &form)
	switch {
	case err != nil:
		return Published{}, malformed(data, err)
	case form.T1 != nil:
		return parseT1(data)
	case form.Params != nil:
		return parseOwn(data)
	}
	return Published{}, errors.New(`neither "params" nor "ConfigurationSpace" found: this is no tuning space`)
}

func parseOwn(data []byte) (Published, error) {
	var d document
	if err := strict(data, &d); err != nil {
		return Published{}, err
	}
	p := Published{Name: d.Name, Valid: -1, Cartesian: d.Cartesian}
	if d.Valid != nil {
		p.Valid = *d.Valid
	}
	var err error
	if p.Part.Tunables, err = parseParams(d.Params); err != nil {
		return Published{}, err
	}
	p.Part.Constraints, err = parseConstraints(d.Constraints)
	return p, err
}

func parseConstraints(sources []string) ([]*expr.Expr, error) {
	var constraints []*expr.Expr
	for i, source := range sources {
		e, err := expr.Parse(source)
		if err != nil {
			return nil, fmt.Errorf("constraint %d: %w", i+1, err)
		}
		constraints = append(constraints, e)
	}
	return constraints, nil
}

// strict decodes data into a struct and refuses keys that it does not have.
func strict(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	switch {
	case err == nil:
		return nil
	case strings.HasPrefix(err.Error(), "json: unknown field"):
		return jsonerror.Describe(err, data, d.InputOffset())
	}
	return malformed(data, err)
}

func malformed(data []byte, err error) error {
	return fmt.Errorf("malformed JSON at %w", jsonerror.Describe(err, data, 0))
}

// parseParams reads an object of lists and keeps its order.
func parseParams(data []byte) ([]Tunable, error) {
	if data[0] != '{' {
		return nil, errors.New(`"params" is no object: write {"name": [values]}`)
	}
	var tunables []Tunable
	err := jsonobject.Read(data, func(name string, list json.RawMessage) error {
		if list[0] != '[' { // known before all of it is decoded
			return fmt.Errorf("tunable %s: its values are no list: write {%q: [values]}", name, name)
		}
		var values []expr.Value
		if err := json.Unmarshal(list, &values); err != nil {
			return fmt.Errorf("tunable %s: its values are no list of numbers, bools and strings: %s", name, jsonerror.Words(err))
		}
		tunables = append(tunables, Tunable{Name: name, Values: values})
		return nil
	})
	return tunables, err
}

func parseT1(data []byte) (Published, error) {
	var d t1Document
	if err := strict(data, &d); err != nil {
		return Published{}, err
	}
	p := Published{Valid: -1}
	p.Name, _ = d.General["BenchmarkName"].(string)
	for i, tp := range d.ConfigurationSpace.TuningParameters {
		if tp.Name == "" {
			return p, fmt.Errorf("TuningParameters[%d] has no Name", i)
		}
		values, err := t1Values(tp.Values)
		if err != nil {
			return p, fmt.Errorf("tunable %s: Values: %w", tp.Name, err)
		}
		p.Part.Tunables = append(p.Part.Tunables, Tunable{Name: tp.Name, Values: values})
	}
	sources := make([]string, len(d.ConfigurationSpace.Conditions))
	for i, c := range d.ConfigurationSpace.Conditions {
		sources[i] = c.Expression
	}
	var err error
	p.Part.Constraints, err = parseConstraints(sources)
	return p, err
}

// t1Values reads a JSON list, or a JSON string that holds a Python list.
func t1Values(raw json.RawMessage) ([]expr.Value, error) {
	var source string
	if json.Unmarshal(raw, &source) == nil {
		return pythonList(source)
	}
	var values []expr.Value
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("neither a list nor a string that holds one: %s", jsonerror.Words(err))
	}
	return values, nil
}
