package pytorch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/program"
)

// operation is a region or a node: what forward has a line for.
type operation struct {
	write          func(names map[string]string) (string, error) // an expression, by the values' names in Python
	reads, results []string                                      // values
}

func (v *programView) operations() (all []operation) {
	for _, step := range v.Plan.Steps {
		if step.Region == nil {
			v.note(*step.Node)
			all = append(all, operation{
				write:   func(names map[string]string) (string, error) { return callOf(*step.Node, names) },
				reads:   slices.Collect(step.Node.Reads()),
				results: lists.Of(step.Node.Results, func(t program.Tensor) string { return t.Name }),
			})
			continue
		}
		for _, n := range v.Plan.Graph.Nodes {
			if slices.Contains(step.Region.Nodes, n.Name) {
				v.note(n)
			}
		}
		r, _ := lists.First(v.Regions, func(r regionView) bool { return r.Region.Name == step.Region.Name })
		all = append(all, operation{reads: r.Values, results: []string{r.Region.Output.Name}, write: func(names map[string]string) (string, error) {
			return r.Region.Name + "(" + strings.Join(lists.Of(r.Values, func(value string) string { return names[value] }), ", ") + ")", nil
		}})
	}
	return all
}

var (
	dropoutForm = regexp.MustCompile(`^aten\.\w*dropout_?\.default$`)
	randomForm  = regexp.MustCompile(`^aten\.(rand|bernoulli|multinomial|normal|uniform|rrelu|exponential|\w*dropout)`)
)

// note notes what a node means for the whole program: its mode, what it writes, and whether it gives the same again.
func (v *programView) note(n program.Node) {
	of := func(i int) program.Argument { return slices.Concat(n.Arguments, make([]program.Argument, 6))[i] }
	training, isDropout := of(2).Constant.(bool)
	isDropout = isDropout && dropoutForm.MatchString(n.Function)
	isNorm := strings.HasPrefix(n.Function, "aten.batch_norm.") && of(3).Value != ""
	if isNorm {
		training, _ = of(5).Constant.(bool)
	}
	if isNorm || isDropout && v.Training == "" {
		v.Training = map[bool]string{true: "True", false: "False"}[training]
	}
	v.Once = v.Once || randomForm.MatchString(n.Function) && (!isDropout || training)
	for _, name := range n.Mutates {
		t, isState := lists.First(v.Plan.Graph.State, func(t program.Tensor) bool { return t.Name == name })
		place, err := attribute(t.Path)
		if isState && err == nil && !slices.Contains(v.Mutated, place) {
			v.Mutated = append(v.Mutated, place)
		}
		isInput := slices.ContainsFunc(v.Plan.Graph.Inputs, func(t program.Tensor) bool { return t.Name == name })
		v.Once = v.Once || isInput || isState && t.Type != "int64" && !strings.Contains(n.Function, "_norm.") // statistics do no harm
	}
}

// taken are the names that a piece of Python has already.
type taken map[string]bool

func reserved(words string) taken {
	t := taken{}
	for _, word := range strings.Fields(words) {
		t[word] = true
	}
	return t
}

// free is the name itself, or one like it that was not taken.
func (t taken) free(name string) string {
	for t[name] || quote.IsName(name) && !quote.IsPythonName(name) {
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
	kept  map[string]bool // values that are not the program's own
}

// forward writes the lines of forward: each operation, and the outputs.
func (v *programView) forward() error {
	b := body{map[string]string{}, reserved("self inputs named given super torch float getattr len any Recomputed tuned_for tuned_forward " +
		"constants device"), map[string]int{}, map[string]bool{}}
	for _, r := range v.Regions {
		b.used[r.Region.Name] = true
	}
	all := v.operations()
	for i, op := range all {
		for _, value := range op.reads {
			b.last[value] = i
		}
	}
	for _, value := range v.Plan.Graph.Outputs {
		b.last[value] = len(all)
	}
	if err := v.given(&b); err != nil {
		return err
	}
	for i, op := range all {
		expression, err := op.write(b.names)
		if err != nil {
			return err
		}
		v.Lines = append(v.Lines, b.lines(i, op, expression)...)
	}
	var outputs []string
	for _, value := range v.Plan.Graph.Outputs {
		if b.names[value] == "" {
			return fmt.Errorf("the output %.80q is no value of the program", value)
		}
		outputs = append(outputs, b.names[value])
	}
	v.Lines = append(v.Lines, "return "+strings.Join(outputs, ", "))
	if strings.Contains(strings.Join(v.Lines, "\n"), "device") {
		v.Lines = slices.Insert(v.Lines, 0, "device = given[0].device")
	}
	if v.Training == "" && strings.Contains(v.Source, "training") {
		v.Training = "True" // as a model is made
	}
	return nil
}

// given lists and names the tensors that the program is given, and those that it makes of numbers.
func (v *programView) given(b *body) error {
	g := v.Plan.Graph
	if len(g.Inputs) == 0 {
		return fmt.Errorf("forward takes no tensors, by which calls could be told apart")
	}
	collected, names, constants := []string{"*inputs"}, []string{}, []string{}
	for i, t := range slices.Concat(g.Inputs, g.State) {
		if _, read := b.last[t.Name]; !read && i >= len(g.Inputs) {
			continue
		}
		if !quote.IsPythonName(t.Name) || !typeForm.MatchString(t.Type) {
			return fmt.Errorf("%.80q is of type %.80q; want a tensor with a name of Python", t.Name, t.Type)
		}
		b.kept[t.Name] = true
		if t.Values != nil {
			b.names[t.Name] = b.used.free(t.Name)
			constants = append(constants, b.names[t.Name])
			v.Constants = append(v.Constants, fmt.Sprintf("torch.tensor(%s, dtype=torch.%s, device=device).reshape(%s)",
				tuple(lists.Of(t.Values, float)), t.Type, integers(t.Shape)))
			continue
		}
		name := t.Name
		if i >= len(g.Inputs) {
			expression, err := attribute(t.Path)
			if err != nil {
				return err
			}
			name, collected = strings.ReplaceAll(t.Path, ".", "_"), append(collected, expression)
			if !quote.IsName(name) {
				name = t.Name
			}
		}
		b.names[t.Name] = b.used.free(name)
		names = append(names, b.names[t.Name])
		v.Given = append(v.Given, fmt.Sprintf("(torch.%s, %s, %s),  # %s", t.Type, integers(t.Shape), integers(t.Strides), name))
	}
	v.Collected, v.Assigned = listed("given = (", collected, ")"), listed("(", names, ") = given")
	if len(constants) > 0 {
		v.Lines = listed("(", constants, ") = constants(device)")
	}
	return nil
}

// lines are those of an operation. A value that is not read again gives its name to what the operation makes, or is let
// go, so that its memory can be used again.
func (b *body) lines(i int, op operation, expression string) []string {
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
	if assigned := strings.Join(targets, ", "); strings.Trim(assigned, "_, ") != "" {
		expression = assigned + " = " + expression
	}
	if len(dead) == 0 {
		return []string{expression}
	}
	for _, name := range dead {
		b.used[name] = false
	}
	return []string{expression, "del " + strings.Join(dead, ", ")}
}

// letter is a short name for a new value.
func (b *body) letter() string {
	const letters = "yzuvwtsrq"
	for n := 0; ; n++ {
		name := letters[n%9 : n%9+1]
		if n >= 9 {
			name += strconv.Itoa(n / 9)
		}
		if !b.used[name] {
			return b.used.free(name)
		}
	}
}

// listed writes a list between two texts: on one line where it is short, and else on lines of its own.
func listed(before string, items []string, after string) []string {
	line := before + strings.Join(items, ", ") + map[bool]string{true: ","}[len(items) == 1] + after
	if len(line) <= 110 {
		return []string{line}
	}
	lines := []string{before}
	for _, item := range items {
		lines = append(lines, "    "+item+",")
	}
	return append(lines, after)
}
