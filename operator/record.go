package operator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/jsonobject"
)

// ProblemRecord names a problem without the operator behind it. The cache,
// recordings and documents keep this form.
type ProblemRecord struct {
	Operator   string     `json:"operator,omitempty"`
	Shape      []int64    `json:"shape"`
	Parameters Parameters `json:"parameters"`
	Math       string     `json:"math"`
	MathBy     string     `json:"math_by,omitempty"` // who chose it where nobody named it
	Text       string     `json:"text,omitempty"`    // canonical, in one line
	Bytes      int64      `json:"bytes,omitempty"`
	Flops      int64      `json:"flops,omitempty"`
	Free       []string   `json:"free,omitempty"` // dimensions that kernels take when they run
}

func (p *Problem) Record() ProblemRecord {
	return ProblemRecord{
		Operator: p.Operator.Name, Shape: p.Shape, Parameters: p.Parameters, Math: p.Math, MathBy: p.MathBy,
		Text: p.String(), Bytes: p.Bytes, Flops: p.Flops, Free: p.Free,
	}
}

// Contradiction is the text that follows from the other fields, if the problem's text differs; else
// "". An operator with one math mode leaves the mode out, and JSON gives the order of the parameters
// no meaning.
func (r ProblemRecord) Contradiction() string {
	text := problemText(r.Operator, r.Shape, r.Parameters, r.Math, r.Free)
	for _, may := range []string{text, problemText(r.Operator, r.Shape, r.Parameters, "", r.Free)} {
		if slices.Equal(ordered(may), ordered(r.Text)) {
			return ""
		}
	}
	return text
}

// ordered are the words of a problem's text, those after the shape sorted.
func ordered(text string) []string {
	words := strings.Split(text, " ")
	slices.Sort(words[min(2, len(words)):])
	return words
}

// Request is what binds to the problem again.
func (r ProblemRecord) Request() Request {
	parameters := make(map[string]string, len(r.Parameters))
	for _, p := range r.Parameters {
		parameters[p.Name] = p.Value
	}
	return Request{Shape: r.Shape, Parameters: parameters, Math: r.Math, Free: r.Free}
}

// Parameters are a problem's parameters in the operator's order. As JSON they
// are an object of strings.
type Parameters []Parameter

// has tells whether a parameter is part of the problem's name. One that is `later` is left out while it has its
// default.
func (list Parameters) has(name string) bool {
	return slices.ContainsFunc(list, func(p Parameter) bool { return p.Name == name })
}

func (list Parameters) MarshalJSON() ([]byte, error) {
	var object jsonobject.Writer
	for _, p := range list {
		object.Add(p.Name, p.Value)
	}
	return object.MarshalJSON()
}

// UnmarshalJSON reads an object, in whose order the parameters come.
func (list *Parameters) UnmarshalJSON(data []byte) error {
	*list = nil
	return jsonobject.Read(data, func(name string, text json.RawMessage) error {
		p := Parameter{Name: name}
		if err := json.Unmarshal(text, &p.Value); err != nil {
			return fmt.Errorf("parameters.%s: a value is a string, not %.40s", name, text)
		}
		*list = append(*list, p)
		return nil
	})
}
