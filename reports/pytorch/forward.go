package pytorch

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/program"
)

// operation is a region's kernel or a node.
type operation struct {
	write   func(names map[string]string) (string, error) // an expression, by the values' names in Python
	reads   []string
	results []string
}

// operations lists a plan's. A region without a kernel is the nodes that it stands for.
func (v *programView) operations() (all []operation, err error) {
	nodes := map[string]*program.Node{}
	for i, n := range v.Plan.Graph.Nodes {
		nodes[n.Name] = &v.Plan.Graph.Nodes[i]
	}
	for _, step := range v.Plan.Steps {
		if step.Region == nil {
			v.note(*step.Node)
			all = append(all, operationOf(*step.Node))
			continue
		}
		r, won := lists.First(v.Regions, func(r regionView) bool { return r.Region.Name == step.Region.Name })
		if won {
			all = append(all, r.operation())
		}
		for _, name := range step.Region.Nodes {
			n, known := nodes[name]
			if !known {
				return nil, fmt.Errorf("%s has the node %.80q, which is none of the graph", step.Region.Name, name)
			}
			v.note(*n)
			if !won {
				all = append(all, operationOf(*n))
			}
		}
	}
	return all, nil
}

func operationOf(n program.Node) operation {
	return operation{
		write:   func(names map[string]string) (string, error) { return callOf(n, names) },
		reads:   valuesOf(slices.AppendSeq(slices.Clone(n.Arguments), maps.Values(n.Keywords))),
		results: lists.Of(n.Results, func(t program.Tensor) string { return t.Name }),
	}
}

func valuesOf(arguments []program.Argument) (values []string) {
	for _, a := range arguments {
		if a.Value != "" {
			values = append(values, a.Value)
		}
		values = append(values, valuesOf(a.List)...)
	}
	return values
}

// operation is the call of the region's function.
func (r regionView) operation() operation {
	return operation{reads: r.Values, results: []string{r.Region.Output.Name}, write: func(names map[string]string) (string, error) {
		given := lists.Of(r.Values, func(value string) string { return names[value] })
		return r.Region.Name + "(" + strings.Join(given, ", ") + ")", nil
	}}
}

// randomForm is a function that gives other numbers each time.
var randomForm = regexp.MustCompile(`^aten\.(rand|bernoulli|multinomial|normal_?\.|uniform_?\.|rrelu|native_dropout|\w*dropout)`)

// note notes what a node means for all of the program: its mode, what it writes, and whether it gives the same again.
func (v *programView) note(n program.Node) {
	of := func(i int) program.Argument { // which may be left out
		if i < len(n.Arguments) {
			return n.Arguments[i]
		}
		return program.Argument{}
	}
	mode := of(2) // of dropout
	norm := n.Function == "aten.batch_norm.default" && of(3).Value != ""
	if norm {
		mode = of(5)
	}
	training, told := mode.Constant.(bool)
	dropout := strings.HasSuffix(n.Function, "dropout.default") || strings.HasSuffix(n.Function, "dropout_.default")
	if told && (norm || dropout && v.Training == "") {
		v.Training = map[bool]string{true: "True", false: "False"}[training]
	}
	v.Random = v.Random || randomForm.MatchString(n.Function) && (!told || training)
	for _, name := range n.Mutates {
		g := v.Plan.Graph
		if t, isState := lists.First(g.State, func(t program.Tensor) bool { return t.Name == name }); isState && t.Values == nil {
			if place, err := attribute(t.Path); err == nil && !slices.Contains(v.Mutated, place) {
				v.Mutated = append(v.Mutated, place)
			}
		}
		v.Random = v.Random || slices.ContainsFunc(g.Inputs, func(t program.Tensor) bool { return t.Name == name })
	}
}

// taken are the names that a piece of Python has already.
type taken map[string]bool

// free is the name itself, or one like it that was not taken.
func (t taken) free(name string) string {
	for t[name] || !quote.IsPythonName(name) && quote.IsName(name) {
		name += "_"
	}
	t[name] = true
	return name
}

// body is what forward is written with.
type body struct {
	names map[string]string // of values, in Python
	used  taken
	last  map[string]int  // the operation that reads a value last
	kept  map[string]bool // values that outlive the operations
	lines []string
}

// forward writes the lines of forward: each operation, and the outputs.
func (v *programView) forward() error {
	all, err := v.operations()
	if err != nil {
		return err
	}
	b := body{map[string]string{}, taken{}, map[string]int{}, map[string]bool{}, nil}
	for _, word := range strings.Fields("self inputs named given super torch float getattr len any Recomputed tuned_for constants device") {
		b.used[word] = true
	}
	for _, r := range v.Regions {
		b.used[r.Region.Name] = true
	}
	for i, op := range all {
		for _, value := range op.reads {
			b.last[value] = i
		}
	}
	for _, value := range v.Plan.Graph.Outputs {
		b.last[value] = len(all)
	}
	if err := v.begin(&b); err != nil {
		return err
	}
	for i, op := range all {
		if err := b.step(i, op); err != nil {
			return err
		}
	}
	var outputs []string
	for _, value := range v.Plan.Graph.Outputs {
		if b.names[value] == "" {
			return fmt.Errorf("the output %.80q is no value of the program", value)
		}
		outputs = append(outputs, b.names[value])
	}
	v.Lines = append(b.lines, "return "+strings.Join(outputs, ", "))
	if strings.Contains(strings.Join(v.Lines, "\n"), "device") {
		v.Lines = slices.Insert(v.Lines, 0, "device = given[0].device")
	}
	if v.Training == "" && strings.Contains(v.Source, "training") {
		v.Training = "True" // as a model is made
	}
	return nil
}

// begin names what the program is given, and writes the constants.
func (v *programView) begin(b *body) error {
	var names, constants []string
	for i, t := range v.Given {
		name := t.Name
		if path := strings.ReplaceAll(t.About, ".", "_"); quote.IsPythonName(path) {
			name = path
		}
		if !quote.IsPythonName(name) {
			return fmt.Errorf("%.80q is no name in Python", name)
		}
		b.names[t.Name] = b.used.free(name)
		b.kept[t.Name] = true
		names = append(names, b.names[t.Name])
		v.Given[i].Name = b.names[t.Name]
	}
	v.Assigned = listed("(", names, ") = given")
	for _, t := range v.Plan.Graph.State {
		if _, read := b.last[t.Name]; t.Values == nil || !read {
			continue
		}
		if !quote.IsPythonName(t.Name) || !tensorType(t.Type) {
			return fmt.Errorf("the constant %.80q of type %.20q is none that can be written", t.Name, t.Type)
		}
		b.names[t.Name], b.kept[t.Name] = b.used.free(t.Name), true
		constants = append(constants, b.names[t.Name])
		v.Constants = append(v.Constants, fmt.Sprintf("%s, dtype=torch.%s, device=device).reshape(%s)",
			tuple(lists.Of(t.Values, float)), t.Type, integers(t.Shape)))
	}
	if len(constants) > 0 {
		b.lines = append(b.lines, listed("(", constants, ") = constants(device)")...)
	}
	return nil
}

// step writes an operation. A value that it is the last to read gives its name to what it makes, or is let go, so that
// its memory can be used again.
func (b *body) step(i int, op operation) error {
	expression, err := op.write(b.names)
	if err != nil {
		return err
	}
	var dead, targets []string
	for _, value := range op.reads {
		if name := b.names[value]; b.last[value] == i && !b.kept[value] && !slices.Contains(dead, name) {
			dead = append(dead, name)
		}
	}
	for _, result := range op.results {
		name := "_"
		if _, needed := b.last[result]; needed && len(dead) > 0 {
			name, dead = dead[0], dead[1:]
		} else if needed {
			name = b.letter()
		}
		b.names[result], targets = name, append(targets, name)
	}
	if slices.ContainsFunc(targets, func(name string) bool { return name != "_" }) {
		expression = strings.Join(targets, ", ") + " = " + expression
	}
	b.lines = append(b.lines, expression)
	if len(dead) > 0 {
		b.lines = append(b.lines, "del "+strings.Join(dead, ", "))
	}
	for _, name := range dead {
		b.used[name] = false
	}
	return nil
}

// letter is a short name for a new value.
func (b *body) letter() string {
	for _, name := range strings.Fields("y z u v w t s r q") {
		if !b.used[name] {
			return b.used.free(name)
		}
	}
	for n := 1; ; n++ {
		if name := fmt.Sprintf("y_%d", n); !b.used[name] {
			return b.used.free(name)
		}
	}
}

// listed writes a list between two texts: on one line where it is short, else on lines of their own.
func listed(before string, items []string, after string) []string {
	line := before + strings.Join(items, ", ") + after
	if len(items) == 1 {
		line = before + items[0] + "," + after
	}
	if len(line) <= 110 {
		return []string{line}
	}
	lines := []string{before}
	for _, item := range items {
		lines = append(lines, "    "+item+",")
	}
	return append(lines, after)
}
