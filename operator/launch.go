package operator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space/expr"
)

type Launch struct {
	Entry       string   `json:"entry"` // the kernel's name, or a C++ name expression such as scan<float, 128>
	Grid        [3]int64 `json:"grid"`
	Block       [3]int64 `json:"block"`
	SharedBytes int64    `json:"shared_bytes"`          // dynamic shared memory
	Cluster     [3]int64 `json:"cluster,omitzero"`      // blocks of a thread-block cluster; zero: no cluster
	Cooperative bool     `json:"cooperative,omitempty"` // all blocks run at the same time, and may wait for each other
	Dependent   bool     `json:"dependent,omitempty"`   // may begin before earlier launches have ended; the kernel itself waits for them
	Arguments   []string `json:"arguments,omitempty"`   // the arguments that the kernel takes, in its order; nil: all

	Maps []TensorMap `json:"maps,omitempty"` // the arguments that are passed as tensor maps instead of addresses
}

// Launches lists the launches of a configuration, each of which begins when all earlier launches have ended, unless it
// is a (programmatic) dependent launch. In JSON, a single launch is an object, and several launches are a list.
type Launches []Launch

func (l Launches) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]Launch(l))
}

func (l *Launches) UnmarshalJSON(data []byte) error {
	if text := strings.TrimSpace(string(data)); strings.HasPrefix(text, "[") || text == "null" {
		return json.Unmarshal(data, (*[]Launch)(l))
	}
	*l = make(Launches, 1)
	return json.Unmarshal(data, &(*l)[0])
}

// Entries returns the names of the kernels that are launched, in order and without duplicates.
func (l Launches) Entries() []string {
	var entries []string
	for _, launch := range l {
		if !slices.Contains(entries, launch.Entry) {
			entries = append(entries, launch.Entry)
		}
	}
	return entries
}

type LaunchSpec struct {
	Entry       Interpolated `json:"entry"`
	When        *Formula     `json:"when,omitempty"` // nil: always
	Block       [3]Formula   `json:"block"`
	Grid        [3]Formula   `json:"grid"`
	Shared      Formula      `json:"shared"`
	Cluster     *[3]Formula  `json:"cluster,omitempty"` // nil: no clusters
	Cooperative Formula      `json:"cooperative,omitzero"`
	Dependent   Formula      `json:"dependent,omitzero"`
	Arguments   []string     `json:"arguments,omitempty"` // nil: all

	// Maps are the tensor maps that the launch passes. The field Maps is set only in launches of Formulas, because a
	// template's own launch names its tensor maps in Arguments.
	Maps []MapFormulas `json:"-"`

	at tree.Position
}

// cudaLimits are CUDA's limits on a launch. In cudaLimits, names that begin with __, which no operator can declare,
// stand for the expressions of the launch: __block_x is its block's width.
var cudaLimits = []string{
	"1 <= __block_x <= 1024", "1 <= __block_y <= 1024", "1 <= __block_z <= 64",
	"__block_x * __block_y * __block_z <= max_threads",
	"0 <= __shared <= max_shared",
	"1 <= __grid_x <= 2147483647", "1 <= __grid_y <= 65535", "1 <= __grid_z <= 65535",
}

// clusterLimits are CUDA's limits on a launch with clusters. Every GPU with clusters allows eight blocks per cluster,
// and the grid must be a multiple of the cluster.
var clusterLimits = []string{
	"arch >= 90 or __cluster_x * __cluster_y * __cluster_z == 1",
	"__cluster_x >= 1 and __cluster_y >= 1 and __cluster_z >= 1 and __cluster_x * __cluster_y * __cluster_z <= 8",
	"__grid_x % __cluster_x == 0 and __grid_y % __cluster_y == 0 and __grid_z % __cluster_z == 0",
}

var dependentLimits = []string{"not __dependent or arch >= 90"}

// standIns replaces names such as __block_x in the expressions of limits by a template's formulas.
type standIns struct {
	codes map[string]*expr.Expr
	texts []string
}

func (in *standIns) add(name string, f Formula) {
	if in.codes == nil {
		in.codes = map[string]*expr.Expr{}
	}
	in.codes[name] = f.code
	in.texts = append(in.texts, name, "("+f.Text+")")
}

// formula parses an expression, and replaces each name in it by the formula that the name stands for.
func (in *standIns) formula(text string, at tree.Position) Formula {
	code := expr.MustParse(text).Substitute(in.codes)
	return Formula{Text: strings.NewReplacer(in.texts...).Replace(text), Position: at, code: code}
}

// limits returns CUDA's limits on a launch as formulas, with names such as __block_x replaced by the launch's
// expressions.
func (s *LaunchSpec) limits() []Formula {
	var in standIns
	in.add("__shared", s.Shared)
	all, guard := cudaLimits, ""
	for i, axis := range []string{"x", "y", "z"} {
		in.add("__block_"+axis, s.Block[i])
		in.add("__grid_"+axis, s.Grid[i])
		if s.Cluster != nil {
			in.add("__cluster_"+axis, s.Cluster[i])
		}
	}
	if s.Cluster != nil {
		all = slices.Concat(all, clusterLimits)
	}
	if !s.Dependent.Never() {
		in.add("__dependent", s.Dependent)
		all = slices.Concat(all, dependentLimits)
	}
	if s.When != nil {
		in.add("__when", *s.When)
		guard = "not __when or "
	}
	return lists.Of(all, func(limit string) Formula { return in.formula(guard+limit, s.at) })
}

// launchLimits returns a function for CUDA's limits on launches and tensor maps, which are parsed at the first call.
func launchLimits(launches []LaunchSpec, maps []*TensorMapSpec) func() []Formula {
	return sync.OnceValue(func() (limits []Formula) {
		for i := range launches {
			limits = append(limits, launches[i].limits()...)
		}
		for _, m := range maps {
			limits = append(limits, m.limits()...)
		}
		return limits
	})
}

func (u use) launches() (Launches, error) {
	var launches Launches
	for i := range u.t.Launches {
		s := &u.t.Launches[i]
		if s.When != nil {
			if wanted, err := u.value("when", *s.When); err != nil {
				return nil, err
			} else if !wanted.Truth() {
				continue
			}
		}
		l, err := u.launch(s)
		if err != nil {
			return nil, err
		}
		l.Dependent = l.Dependent && len(launches) > 0 // the first launch has none to depend on
		launches = append(launches, l)
	}
	if len(launches) == 0 {
		message := fmt.Sprintf("template `%s` launches nothing for %s", u.t.Name, u.p)
		return nil, &tree.Error{Position: u.t.launchAt, Message: message}
	}
	return launches, nil
}

func (u use) launch(s *LaunchSpec) (l Launch, err error) {
	value := func(what string, f Formula) expr.Value {
		v, failed := u.value(what, f)
		err = cmp.Or(err, failed)
		return v
	}
	count := func(what string, f Formula, least int64) int64 {
		v := value(what, f)
		n, ok := v.AsInt()
		if err == nil && (!ok || n < least) {
			err = u.fault(f, what, fmt.Errorf("it gives %v, which must be an integer of at least %d", v, least))
		}
		return n
	}
	for i := range 3 {
		l.Block[i] = count("block", s.Block[i], 1)
		l.Grid[i] = count("grid", s.Grid[i], 1)
		if s.Cluster != nil {
			l.Cluster[i] = count("cluster", s.Cluster[i], 1)
		}
	}
	if l.Cluster == [3]int64{1, 1, 1} {
		l.Cluster = [3]int64{} // one block needs no cluster
	}
	l.SharedBytes = count("shared", s.Shared, 0)
	l.Cooperative, l.Dependent = value("cooperative", s.Cooperative).Truth(), value("dependent", s.Dependent).Truth()
	if err == nil {
		l.Entry, err = u.interpolate("entry", s.Entry)
	}
	if err == nil {
		l.Arguments, l.Maps, err = u.passes(s)
	}
	return l, err
}

// Passed returns the indices of the arguments that a launch passes, without those copied to __constant__ variables.
func Passed(all []Argument, l Launch) []int {
	if l.Arguments == nil {
		return lists.Where(lists.Places(len(all)), func(i int) bool { return all[i].Symbol == "" && all[i].Owner == "" })
	}
	return lists.Of(l.Arguments, func(name string) int {
		return slices.IndexFunc(all, func(a Argument) bool { return a.Name == name })
	})
}

// Name tells whether one of the launches names the given argument in its list of arguments.
func (l Launches) Name(argument string) bool {
	return slices.ContainsFunc(l, func(launch Launch) bool { return slices.Contains(launch.Arguments, argument) })
}

// Lines describes each launch in a line, with the name of its kernel if there are several launches.
func (l Launches) Lines() []string {
	lines := make([]string, len(l))
	for i, launch := range l {
		lines[i] = launch.String()
		if len(l) > 1 {
			lines[i] = launch.Entry + " with " + lines[i]
		}
	}
	return lines
}

func (l Launch) String() string {
	text := fmt.Sprintf("grid %s, block %s", FormatShape(l.Grid[:]), FormatShape(l.Block[:]))
	if l.SharedBytes > 0 {
		text += fmt.Sprintf(", %d bytes of dynamic shared memory", l.SharedBytes)
	}
	if l.Clustered() {
		text += ", clusters of " + FormatShape(l.Cluster[:])
	}
	if l.Cooperative {
		text += ", cooperative"
	}
	if l.Dependent {
		text += ", dependent"
	}
	return text
}

func (l Launch) Clustered() bool { return l.Cluster != [3]int64{} }
