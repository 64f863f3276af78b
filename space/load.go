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

// Published is a tuning space that was read from a published document.
type Published struct {
	Name      string // may be empty
	Part      Part   // its template is empty
	Valid     int64  // how many valid configurations the document claims, or -1
	Cartesian float64
}

// ReadPublished reads a document of published tuning spaces from r, which may be compressed.
func ReadPublished(r io.Reader) ([]Published, error) {
	data, err := Bound.Unpack(r)
	if err != nil {
		return nil, err
	}
	return ParsePublished(data)
}

// ParsePublished reads tuning spaces from JSON: {"params": {name: [values]}, "constraints": [expressions]}, or a list
// of such objects. The keys "name", "valid", "cartesian", "source", "note", "published_valid" and "published_cartesian"
// are optional; any other key is an error. The tunables keep the order in which the document lists them.
func ParsePublished(data []byte) ([]Published, error) {
	if err := Bound.JSON(data); err != nil {
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
		// Line breaks in front of the item make errors report line numbers of the whole document, not of the item.
		before := bytes.Count(data[:max(0, bytes.Index(data, item))], []byte("\n"))
		var err error
		if all[i], err = parsePublished(append(bytes.Repeat([]byte("\n"), before), item...)); err != nil {
			return nil, fmt.Errorf("space %d: %w", i+1, err)
		}
	}
	return all, nil
}

// Bound limits the size of a space file to half a million values, which can be read in less than a second.
var Bound = input.Bound{Kind: "a space file", Bytes: 8 << 20, Values: 500_000, Depth: 64}

type document struct {
	Name        string          `json:"name"`
	Params      json.RawMessage `json:"params"`
	Constraints []string        `json:"constraints"`
	Valid       *int64          `json:"valid"`
	Cartesian   float64         `json:"cartesian"`

	Source             any `json:"source"` // these fields describe the document and are not used
	Note               any `json:"note"`
	PublishedValid     any `json:"published_valid"`
	PublishedCartesian any `json:"published_cartesian"`
}

func parsePublished(data []byte) (p Published, err error) {
	var d document
	if err := strict(data, &d); err != nil {
		return p, err
	}
	p = Published{Name: d.Name, Valid: -1, Cartesian: d.Cartesian}
	if d.Valid != nil {
		p.Valid = *d.Valid
	}
	if p.Part.Tunables, err = parseParams(d.Params); err != nil {
		return p, err
	}
	for i, source := range d.Constraints {
		e, err := expr.Parse(source)
		if err != nil {
			return p, fmt.Errorf("constraint %d: %w", i+1, err)
		}
		p.Part.Constraints = append(p.Part.Constraints, e)
	}
	return p, nil
}

// strict decodes data into a struct and refuses keys that the struct does not have.
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

// parseParams reads an object whose values are lists, and keeps its order.
func parseParams(data []byte) ([]Tunable, error) {
	switch {
	case data == nil:
		return nil, errors.New(`there is no "params": this is no tuning space`)
	case data[0] != '{':
		return nil, errors.New(`"params" is no object: write {"name": [values]}`)
	}
	var tunables []Tunable
	err := jsonobject.Read(data, func(name string, list json.RawMessage) error {
		if list[0] != '[' { // refused before the whole list is decoded
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
