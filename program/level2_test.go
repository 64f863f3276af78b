package program

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
)

var update = flag.Bool("update", false, "write testdata/level2.txt anew")

// exported is a program of KernelBench's level 2 as pack/capture exports it.
type exported struct {
	Problem string          `json:"problem"`
	Graph   json.RawMessage `json:"graph"`
}

// level2 are the graphs of KernelBench's level 2, by the numbers of the problems.
func level2(t *testing.T) (all []*Graph, names []string) {
	t.Helper()
	f, err := os.Open("testdata/level2.jsonl.gz")
	must.OK(t, err)
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	must.OK(t, err)
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e exported
		must.OK(t, json.Unmarshal(lines.Bytes(), &e))
		g, err := Read(strings.NewReader(string(e.Graph)))
		if err != nil {
			t.Fatalf("%s: %v", e.Problem, err)
		}
		all, names = append(all, g), append(names, e.Problem)
	}
	must.OK(t, lines.Err())
	return all, names
}

func planned(t *testing.T, g *Graph) *Plan {
	t.Helper()
	p, err := NewPlan(g, operator.Find)
	must.OK(t, err)
	return p
}

// short is a plan in a line: regions with their epilogues, and in brackets what PyTorch computes.
func short(p *Plan) string {
	var parts []string
	for _, s := range p.Steps {
		if s.Region == nil {
			name, _ := functionOf(s.Node)
			parts = append(parts, "("+name+")")
			continue
		}
		text := s.Region.Operator
		for _, name := range []string{"epilogue", "f"} {
			if e := s.Region.Request.Parameters[name]; e != "" && e != "x" {
				text += " " + e
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " | ")
}

func TestLevel2(t *testing.T) {
	graphs, names := level2(t)
	if len(graphs) != 100 {
		t.Fatalf("%d graphs; want 100", len(graphs))
	}
	var lines []string
	for i, g := range graphs {
		p := planned(t, g)
		number, _, _ := strings.Cut(names[i], "_")
		lines = append(lines, number+" "+short(p))
		t.Run(number, func(t *testing.T) { isWhole(t, g, p) })
	}
	const golden = "testdata/level2.txt"
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		must.OK(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want := must.Read(t, golden)
	wanted := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(wanted) || line != wanted[i] {
			t.Errorf("%s: got %s (-update writes it)", golden, line)
		}
	}
}

// isWhole checks that each node stands in one place, and that steps read what is there before them.
func isWhole(t *testing.T, g *Graph, p *Plan) {
	t.Helper()
	places, known := map[string]int{}, map[string]bool{}
	for _, v := range slices.Concat(g.Inputs, g.State) {
		known[v.Name] = true
	}
	reads := func(step, name string) {
		if !known[name] {
			t.Errorf("%s reads %s, which no step before it makes", step, name)
		}
	}
	for _, d := range p.Dropped {
		places[d.Node]++
	}
	for _, s := range p.Steps {
		if r := s.Region; r != nil {
			for _, name := range r.Nodes {
				places[name]++
			}
			for _, in := range r.Inputs {
				reads(r.Name, in.Value)
			}
			isBound(t, r)
			known[r.Output.Name] = true
			continue
		}
		places[s.Node.Name]++
		if s.Why == "" {
			t.Errorf("%s is PyTorch's for no reason", s.Node.Name)
		}
		for name := range s.Node.Reads() {
			reads(s.Node.Name, name)
		}
		for _, v := range s.Node.Results {
			known[v.Name] = true
		}
	}
	for _, name := range p.Graph.Outputs {
		reads("the end", name)
	}
	for _, n := range g.Nodes {
		if places[n.Name] != 1 {
			t.Errorf("%s stands in %d places\n%s", n.Name, places[n.Name], p)
		}
	}
}

// isBound checks that a region gives its problem the tensors that it reads.
func isBound(t *testing.T, r *Region) {
	t.Helper()
	var want, got []string
	for _, a := range r.Problem.Arguments {
		if a.Role.Filled() && a.Elements > 0 {
			want = append(want, fmt.Sprint(a.Name, a.Shape))
		}
	}
	for _, in := range r.Inputs {
		got = append(got, fmt.Sprint(in.Argument, in.Shape))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s reads %v; its problem %s has %v", r.Name, got, r.Problem, want)
	}
}

// pointwise32 are the problems that are one root and elementwise calls behind it.
var pointwise32 = regexp.MustCompile(`^(1|2|4|5|7|9|12|16|20|26|29|31|40|47|48|53|54|57|59|` +
	`63|68|69|70|71|76|81|86|87|90|93|95|100)_`)

func TestPointwiseProblemsAreOneRegion(t *testing.T) {
	graphs, names := level2(t)
	seen := 0
	for i, g := range graphs {
		if !pointwise32.MatchString(names[i]) {
			continue
		}
		seen++
		if p := planned(t, g); len(p.Steps) != 1 || p.Steps[0].Region == nil {
			t.Errorf("%s is not one region:\n%s", names[i], p)
		}
	}
	if seen != 32 {
		t.Errorf("%d problems; want 32", seen)
	}
}
