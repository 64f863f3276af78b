package device

import (
	"cmp"
	"fmt"
	"strings"
)

// Conditions are the state of the L2 cache and the form of the launches under which a variant is timed. Times measured
// under different conditions are stored apart and never compared. The zero value of Conditions means a cold L2 and
// plain launches.
type Conditions struct {
	L2     L2State    `json:"l2,omitempty"`
	Launch LaunchForm `json:"launch,omitempty"`
}

// L2State says what the L2 cache holds when a timing sample begins. The default state of the cache, cold, is stored as
// "".
type L2State string

const (
	Cold L2State = ""     // data of another buffer, twice as large as the cache, which is written before each sample
	Warm L2State = "warm" // the data that the variant's previous launch left there
)

// LaunchForm says how the launches of a timing sample reach the GPU. The default form, plain launches, is stored as "".
type LaunchForm string

const (
	Direct LaunchForm = ""      // launched one by one
	Graph  LaunchForm = "graph" // captured into a CUDA graph, of which a sample times one launch
)

// L2Words and LaunchWords contain the words by which users name timing conditions; the first word of each list is
// the default.
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

// Check returns an error if this version does not know the conditions.
func (c Conditions) Check() error {
	if c.L2 != Cold && c.L2 != Warm {
		return fmt.Errorf("l2 is %q, want %s", c.L2, strings.Join(L2Words, " or "))
	}
	if c.Launch != Direct && c.Launch != Graph {
		return fmt.Errorf("launch is %q, want %s", c.Launch, strings.Join(LaunchWords, " or "))
	}
	return nil
}

// Usual reports whether these are the default conditions: a cold L2 and plain launches.
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

// Unusual names the conditions that differ from the default ones, as in "warm L2", or returns "" if none differs.
func (c Conditions) Unusual() string {
	if c.Usual() {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(c.String(), ", direct launches"), "cold L2, ")
}

// Flags returns the command-line flags that ask for these conditions, or "" for the default conditions.
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
