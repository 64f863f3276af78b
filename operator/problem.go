package operator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/internal/jsonobject"
	"autotune/internal/lists"
	"autotune/space/expr"
)

// Problem is an operator bound to a shape, parameters and a math mode. A Problem is plain data that contains everything
// that does not depend on a configuration.
type Problem struct {
	Operator   *Operator
	Shape      []int64
	Parameters Parameters // in the operator's order
	Math       string
	MathBy     string                // what chose the math mode, if not the user
	Values     map[string]expr.Value // dimensions, parameters, math mode and derived values, by their names in expressions
	Arguments  []Argument            // of the kernels, in order
	Bytes      int64                 // least bytes moved
	Flops      int64
	Limits     Limits
	Free       []string // dimensions that kernels take at run time, in the shape's order
}

// Argument is an argument of a problem's kernels: a dense tensor or a scalar. A tensor is row-major unless it has
// another order, and a tensor without elements is passed as a null pointer.
type Argument struct {
	Name     string
	Role     Role
	Type     Type
	Shape    []int64
	Order    []int      // its axes from the outermost in memory to the innermost; nil: row-major order of its shape
	Elements int64      // 0 for a scalar
	Scale    float64    // a weight's values lie in [-Scale, Scale]
	Fill     *Fill      // nil: filled as its role and the search require
	Value    expr.Value // of a scalar
	Symbol   string     // the __constant__ variable that it is copied to; "": it is passed
	Owner    string     // the only template whose launches may take it; "": all may

	ATol, RTol float64 // of what is compared
}

// Bytes returns the size of the tensor in bytes; 0 for a scalar.
func (a Argument) Bytes() int64 { return a.Elements * a.Type.Bytes() }

// Limits are the properties of a device that kernels and expressions depend on.
type Limits struct {
	Arch               int    `json:"arch"`             // compute capability times ten: 90
	Target             string `json:"target,omitempty"` // what kernels are compiled for: "sm_90a"
	SMs                int    `json:"sms"`
	MaxThreadsPerBlock int    `json:"max_threads_per_block"`
	MaxSharedPerBlock  int    `json:"max_shared_per_block"` // bytes, with opt-in
	SharedPerSM        int    `json:"shared_per_sm"`
	RegistersPerSM     int    `json:"registers_per_sm"`
	WarpSize           int    `json:"warp_size"`
	L2Bytes            int64  `json:"l2_bytes"`
	MemoryBytes        int64  `json:"memory_bytes"`
}

// limit is a property of a device that expressions may use.
type limit struct {
	name, meaning string
	of            func(Limits) expr.Value
}

var limits = []limit{
	{"arch", "compute capability times ten, as 90", func(l Limits) expr.Value { return count(l.Arch) }},
	{"max_shared", "bytes of shared memory a block at most", func(l Limits) expr.Value {
		return count(l.MaxSharedPerBlock)
	}},
	{"max_threads", "threads a block at most", func(l Limits) expr.Value { return count(l.MaxThreadsPerBlock) }},
	{"sm_count", "multiprocessors", func(l Limits) expr.Value { return count(l.SMs) }},
	{"target", "what kernels are compiled for, as 'sm_90a'", func(l Limits) expr.Value { return expr.String(l.Target) }},
	{"warp_size", "threads a warp", func(l Limits) expr.Value { return count(l.WarpSize) }},
}

func count(n int) expr.Value { return expr.Int(int64(n)) }

var limitNames = lists.Of(limits, func(l limit) string { return l.name })

// LimitNames returns the names by which expressions refer to properties of the device.
func LimitNames() []string { return slices.Clone(limitNames) }

func LimitMeaning(name string) string { return limits[slices.Index(limitNames, name)].meaning }

// beside returns the values that formulas can use in every configuration: the device's limits and a problem's values.
func (l Limits) beside(values map[string]expr.Value) map[string]expr.Value {
	all := make(map[string]expr.Value, len(values)+len(limits))
	maps.Copy(all, values)
	for _, one := range limits {
		all[one.name] = one.of(l)
	}
	return all
}

// String returns the problem's canonical name, such as "conv2d 16x16x1024x1024 c_out=128 kernel=3x3 ... math=tf32".
func (p *Problem) String() string {
	mode := ""
	if len(p.Operator.MathModes) > 1 {
		mode = p.Math
	}
	return problemText(p.Operator.Name, p.Shape, p.Parameters, mode, p.Free)
}

// problemText returns a problem's canonical name. mode is "" for an operator with a single math mode.
func problemText(operator string, shape []int64, parameters Parameters, mode string, free []string) string {
	parts := []string{operator, FormatShape(shape)}
	for _, parameter := range parameters {
		parts = append(parts, parameter.Name+"="+parameter.Value)
	}
	if mode != "" {
		parts = append(parts, "math="+mode)
	}
	if len(free) > 0 {
		parts = append(parts, "free="+strings.Join(free, ","))
	}
	return strings.Join(parts, " ")
}

func (p *Problem) MemoryBytes() int64 {
	bytes := int64(0)
	for _, a := range p.Arguments {
		bytes += a.Bytes()
	}
	return bytes
}

// Output returns the first output tensor, for each of whose elements the reference kernel has one thread.
func (p *Problem) Output() Argument {
	i := slices.IndexFunc(p.Arguments, func(a Argument) bool { return a.Role.Compared() })
	return p.Arguments[i] // a loaded operator has one
}

// ProblemRecord identifies a problem without containing the operator, for the cache, recordings and documents.
type ProblemRecord struct {
	Operator   string     `json:"operator,omitempty"`
	Shape      []int64    `json:"shape"`
	Parameters Parameters `json:"parameters"`
	Math       string     `json:"math"`
	MathBy     string     `json:"math_by,omitempty"` // what chose the math mode, if not the user
	Text       string     `json:"text,omitempty"`    // the canonical name
	Bytes      int64      `json:"bytes,omitempty"`
	Flops      int64      `json:"flops,omitempty"`
	Free       []string   `json:"free,omitempty"` // dimensions that kernels take at run time
}

func (p *Problem) Record() ProblemRecord {
	return ProblemRecord{
		Operator: p.Operator.Name, Shape: p.Shape, Parameters: p.Parameters, Math: p.Math, MathBy: p.MathBy,
		Text: p.String(), Bytes: p.Bytes, Flops: p.Flops, Free: p.Free,
	}
}

// Contradiction returns "" if Text is the problem's name as the record's other fields imply it, and otherwise the
// implied name. Text may omit the math mode, as for an operator with a single mode, and may have the parameters in any
// order, because JSON does not keep their order.
func (r ProblemRecord) Contradiction() string {
	text := problemText(r.Operator, r.Shape, r.Parameters, r.Math, r.Free)
	for _, may := range []string{text, problemText(r.Operator, r.Shape, r.Parameters, "", r.Free)} {
		if slices.Equal(ordered(may), ordered(r.Text)) {
			return ""
		}
	}
	return text
}

// ordered splits a problem's name into words and sorts the words after the shape, i.e. the parameters.
func ordered(text string) []string {
	words := strings.Split(text, " ")
	slices.Sort(words[min(2, len(words)):])
	return words
}

func (r ProblemRecord) Request() Request {
	parameters := make(map[string]string, len(r.Parameters))
	for _, p := range r.Parameters {
		parameters[p.Name] = p.Value
	}
	return Request{Shape: r.Shape, Parameters: parameters, Math: r.Math, Free: r.Free}
}

// Parameters are a problem's parameters in the operator's order. In JSON, Parameters are an object of strings.
type Parameters []Parameter

// has tells whether the list contains a parameter. Parameters omit a `later` parameter that has its default.
func (list Parameters) has(name string) bool {
	return slices.ContainsFunc(list, func(p Parameter) bool { return p.Name == name })
}

func (list Parameters) MarshalJSON() ([]byte, error) {
	return jsonobject.Write(list, func(p Parameter) (string, any) { return p.Name, p.Value })
}

// UnmarshalJSON reads an object and keeps its order.
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
