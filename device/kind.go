package device

import (
	"slices"
	"strings"

	"autotune/internal/lists"
)

// Kind names where a device's results come from: a GPU, the emulator or a recording. Documents and
// recordings hold it as text; Properties tells what it stands for.
type Kind string

const (
	CUDA     Kind = "cuda"
	Emulator Kind = "emulator"
	Replay   Kind = "replay"
)

// Properties are what devices of one kind can do, and what their numbers are worth.
type Properties struct {
	Kind     Kind
	Label    string // what messages call such a device
	Argument string // what may follow the kind and a colon in --device; "": nothing
	// Compiles: kernels are compiled for it, and run. A device that does not
	// answers from a recording of an earlier search; its Compiler is nil.
	Compiles bool
	// Measures: its times are those of a GPU, taken now.
	Measures bool
	// Persists: its trials are worth keeping.
	Persists bool
	// Caveat is the remark to print with times that are not a GPU's.
	Caveat string
}

// kinds is the one place that says what the kinds can do. Package devices says how each is opened.
var kinds = []Properties{
	{Kind: CUDA, Label: "a GPU", Argument: "N", Compiles: true, Measures: true, Persists: true},
	{Kind: Emulator, Label: "the CPU emulator", Compiles: true, Persists: true, Caveat: "emulated on the CPU"},
	{Kind: Replay, Label: "a recording", Argument: "FILE"},
}

// KindNames lists the kinds as messages do.
func KindNames() string {
	names := lists.Of(kinds, func(p Properties) string { return string(p.Kind) })
	return strings.Join(names, ", ")
}

func Kinds() []Properties { return slices.Clone(kinds) }

// Properties returns what devices of this kind can do; the zero value, without a
// Kind, for one that this version does not know.
func (k Kind) Properties() Properties {
	for _, p := range kinds {
		if p.Kind == k {
			return p
		}
	}
	return Properties{}
}
