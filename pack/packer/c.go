package packer

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/pack"
	"autotune/space/expr"
	"autotune/tuner/cudasource"
)

//go:embed generated
var generatedFS embed.FS

// generated holds the templates of a pack's source files. The templates quote every text that comes from the manifest.
var generated = template.Must(template.New("").Funcs(template.FuncMap{
	"quote": quote.C, "comment": quote.CComment, "upper": strings.ToUpper, "python": quote.Python, "identifier": cudasource.Identifier,
	"join": func(texts []string) string { return strings.Join(texts, ", ") },
	"int64": func(n int64) string {
		if n == math.MinInt64 {
			return "INT64_MIN"
		}
		return fmt.Sprintf("INT64_C(%d)", n)
	},
	"truth": func(of any) int {
		if is, _ := template.IsTrue(of); is {
			return 1
		}
		return 0
	},
}).ParseFS(generatedFS, "generated/*.tmpl"))

func write(name string, data any) []byte {
	var b bytes.Buffer
	if err := generated.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the templates match their data
	}
	return b.Bytes()
}

// These constants limit the entries that C programs can launch, and are the sizes of arrays in autotune_pack.c.
const (
	mostRankInC      = 8
	mostArgumentsInC = 64
	mostMapsInC      = 8
)

// cPack is the data of a pack for C programs: its entries, with all formulas replaced by numbers.
type cPack struct {
	*pack.Manifest
	Operators []cOperator
	Entries   []cEntry
	Files     []cFile
}

// cOperator is an operator with descriptions of the numbers that identify its problems: dimensions and parameters.
type cOperator struct {
	*pack.Operator
	Given []cGiven
}

// cGiven describes one number that identifies a problem; a word is represented by its index in the parameter's list of
// words.
type cGiven struct {
	Name    string
	Real    bool
	Words   []string
	Default pack.Formula
}

type cEntry struct {
	*pack.Entry
	Operation, File, Arch int
	Own, Usual            bool // Usual: the entry is also chosen without a math mode
	Given                 []cValue
	Tensors               []pack.Tensor

	names []string // of tensors, workspaces and scalars
}

// cValue is a dimension or a parameter's value, as a number, and whether it equals the parameter's default.
type cValue struct {
	Is    int64
	Usual bool
}

// cFile is a file with its FNV-1a checksum, by which C programs detect damage.
type cFile struct {
	Path  string
	Bytes int64
	Sum   uint64
}

// cFiles returns a pack's C header and the tables for autotune_pack.c. cFiles adds a notice for each entry that a C
// program cannot launch.
func cFiles(m *pack.Manifest, contents func(file string) []byte) (header, tables []byte, notices []string) {
	c := &cPack{Manifest: m}
	for _, o := range m.Operators {
		of := cOperator{Operator: o, Given: lists.Of(o.Shape, func(name string) cGiven { return cGiven{Name: name} })}
		for _, s := range o.Parameters {
			for _, part := range s.Components {
				of.Given = append(of.Given, cGiven{part.Name, s.Type == "float", s.Words, part.Default})
			}
		}
		c.Operators = append(c.Operators, of)
	}
	for _, e := range m.Entries {
		row, err := c.entry(e)
		if err != nil {
			notices = append(notices, fmt.Sprintf("%s is left out of what C can call: %v", e.Problem, err))
			continue
		}
		at := slices.IndexFunc(c.Files, func(f cFile) bool { return f.Path == e.File })
		if row.File = at; at < 0 {
			data, sum := contents(e.File), fnv.New64a()
			sum.Write(data)
			row.File, c.Files = len(c.Files), append(c.Files, cFile{e.File, int64(len(data)), sum.Sum64()})
		}
		c.Entries = append(c.Entries, row)
	}
	return write("pack.h.tmpl", c), write("pack.c.tmpl", c), notices
}

// entry computes all of the operator's formulas for an entry, so that C programs need not compute any.
func (c *cPack) entry(e *pack.Entry) (row cEntry, err error) {
	row = cEntry{Entry: e, Operation: slices.IndexFunc(c.Operators, func(o cOperator) bool { return o.Name == e.Operator })}
	o := c.Operators[row.Operation]
	row.Arch, row.Own, _ = pack.Target(e.Target)
	values := maps.Clone(e.Values)
	values["arch"], values["math"] = expr.Int(int64(row.Arch)), expr.String(e.Math)
	for _, g := range o.Given {
		usual, err := g.Default.Eval(values)
		row.Given = append(row.Given, cValue{g.number(values[g.Name]), err == nil && g.number(usual) == g.number(values[g.Name])})
	}
	mode, _ := o.MathAuto.Eval(values)
	row.Usual = e.Auto || mode.Equal(values["math"])
	if row.Tensors, err = o.Sized(values, c.Types); err != nil {
		return row, err
	}
	row.names = o.Taken()
	for _, n := range slices.Concat(e.Workspaces, e.Scalars) {
		row.names = append(row.names, n.Name)
	}
	deep := slices.ContainsFunc(row.Tensors, func(t pack.Tensor) bool { return len(t.Shape) > mostRankInC })
	large := slices.ContainsFunc(e.Launches, func(l pack.Launch) bool {
		return len(l.Arguments) > mostArgumentsInC || len(l.Maps) > mostMapsInC
	})
	if deep || large || len(row.names) > mostArgumentsInC {
		err = fmt.Errorf("tensors have %d dimensions at most, a launch %d arguments and %d tensor maps", mostRankInC, mostArgumentsInC, mostMapsInC)
	}
	return row, err
}

// number converts a parameter's value to the integer that represents it in C.
func (g cGiven) number(v expr.Value) int64 {
	if x, isNumber := v.AsFloat(); g.Real && isNumber {
		return int64(math.Float64bits(x + 0)) // -0 becomes 0
	}
	if g.Words != nil {
		return int64(slices.Index(g.Words, v.String()))
	}
	n, _ := v.AsInt()
	return n
}

// Places returns the indexes of a launch's arguments in the list of tensors, workspaces and scalars.
func (e cEntry) Places(arguments []string) []string {
	return lists.Of(arguments, func(name string) string { return strconv.Itoa(slices.Index(e.names, name)) })
}

// Element returns the size in bytes of a tensor's elements.
func (c *cPack) Element(t pack.Tensor) int64 { return c.Types[t.Type] }
