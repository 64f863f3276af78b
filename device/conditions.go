package device

import (
	"cmp"
	"fmt"
	"strings"
)

// Conditions are those under which a launch is timed. Times under different conditions are kept
// apart and never compared. The zero value is a cold L2 and plain launches.
type Conditions struct {
	L2     L2State    `json:"l2,omitempty"`
	Launch LaunchForm `json:"launch,omitempty"`
}

// L2State is what the L2 cache holds when a sample begins. The usual state is
// stored as "", which leaves keys and JSON short.
type L2State string

const (
	Cold L2State = ""     // something else: a buffer of twice its size is written before each sample
	Warm L2State = "warm" // what the variant's own launch before left there
)

// LaunchForm is how the launches of a sample come to the GPU. The usual form is stored as "".
type LaunchForm string

const (
	Direct LaunchForm = ""      // one by one
	Graph  LaunchForm = "graph" // captured into a CUDA graph, of which a sample times one launch
)

// The words by which users name the conditions, the usual ones first.
var (
	L2Words     = []string{"cold", string(Warm)}
	LaunchWords = []string{"direct", string(Graph)}
)

func ConditionsOf(l2, launch string) Conditions {
	var c Conditions
	if l2 != L2Words[0] {
		c.L2 = L2State(l2)
	}
	if launch != LaunchWords[0] {
		c.Launch = LaunchForm(launch)
	}
	return c
}

func (c Conditions) Words() (l2, launch string) {
	return cmp.Or(string(c.L2), L2Words[0]), cmp.Or(string(c.Launch), LaunchWords[0])
}

// Check refuses conditions that this version does not know.
func (c Conditions) Check() error {
	if c.L2 != Cold && c.L2 != Warm {
		return fmt.Errorf("l2 is %q, want %s", c.L2, strings.Join(L2Words, " or "))
	}
	if c.Launch != Direct && c.Launch != Graph {
		return fmt.Errorf("launch is %q, want %s", c.Launch, strings.Join(LaunchWords, " or "))
	}
	return nil
}

// Usual tells whether these are the conditions that hold unless others are asked for.
func (c Conditions) Usual() bool { return c == Conditions{} }

func (c Conditions) String() string {
	words := [2]string{"cold L2", "direct launches"}
	if c.L2 == Warm {
		words[0] = "warm L2"
	}
	if c.Launch == Graph {
		words[1] = "CUDA graph"
	}
	return words[0] + ", " + words[1]
}

// Unusual names those that are not the usual ones, as in "warm L2"; "" if all are.
func (c Conditions) Unusual() string {
	if c.Usual() {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(c.String(), ", direct launches"), "cold L2, ")
}

// Flags are the flags that ask for them; "" if they are the usual ones.
func (c Conditions) Flags() string {
	var words []string
	if c.L2 != Cold {
		words = append(words, "--l2 "+string(c.L2))
	}
	if c.Launch != Direct {
		words = append(words, "--launch "+string(c.Launch))
	}
	return strings.Join(words, " ")
}
