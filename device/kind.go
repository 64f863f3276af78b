package device

import (
	"slices"
	"strings"

	"autotune/internal/lists"
)

// Kind names where a device's results come from: a GPU, the emulator or a recording. Documents and recordings store a
// Kind as text; Properties returns what devices of that kind can do.
type Kind string

const (
	CUDA     Kind = "cuda"
	Emulator Kind = "emulator"
	Replay   Kind = "replay"
)

// Properties says what devices of one kind can do and how far their measurements can be trusted.
type Properties struct {
	Kind     Kind
	Label    string // what messages call such a device
	Argument string // what may follow the kind and a colon in --device; "" if nothing may
	// Compiles says that kernels are compiled for the device and run on it. A device that does not compile answers from
	// a recording of an earlier search, and its Compiler is nil.
	Compiles bool
	// Measures says that a device of this kind measures times on a GPU during the search.
	Measures bool
	// Persists says that the store keeps trials from devices of this kind.
	Persists bool
	// Caveat is the remark printed with times that were not measured on a GPU.
	Caveat string
}

// kinds is the only place that says what devices of each kind can do. Package devices opens the devices.
var kinds = []Properties{
	{Kind: CUDA, Label: "a GPU", Argument: "N", Compiles: true, Measures: true, Persists: true},
	{Kind: Emulator, Label: "the CPU emulator", Compiles: true, Persists: true, Caveat: "emulated on the CPU"},
	{Kind: Replay, Label: "a recording", Argument: "FILE"},
}

// KindNames lists the names of all kinds, separated by commas, for messages.
func KindNames() string {
	names := lists.Of(kinds, func(p Properties) string { return string(p.Kind) })
	return strings.Join(names, ", ")
}

func Kinds() []Properties { return slices.Clone(kinds) }

// Properties returns what devices of this kind can do. For a kind that this version does not know, Properties returns
// the zero value, which has no Kind.
func (k Kind) Properties() Properties {
	for _, p := range kinds {
		if p.Kind == k {
			return p
		}
	}
	return Properties{}
}
