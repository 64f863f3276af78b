package device

import "time"

// Inputs say what a session's input tensors hold.
type Inputs struct {
	Distribution string
	Seed         uint32
}

// Inputs are those that variants are searched on.
func (p Protocol) Inputs() Inputs { return Inputs{p.Distribution, p.Seed} }

// Check asks for launches beyond the verifying one. Before them outputs hold in turn a NaN, what the launch before
// left, and zeros. After each launch everything is checked: outputs, inputs, guard zones, the reference's output.
type Check struct {
	Launches int           // 0 counts as 1
	Exact    bool          // every launch must give the bits of the first
	Limit    time.Duration // no further launch begins after this time; 0: none
	// Changes asks for one more launch, of the same loaded kernel, after a few places of the drawn inputs have
	// changed. The device draws these places each time. The inputs are afterwards what they were.
	Changes bool `json:",omitempty"`
	// Leave is an empty folder of this machine for what the last launch read and wrote, if all were right: files that
	// package answers names. Only a GPU of this machine does that. "": nowhere.
	Leave string `json:",omitempty"`
}
