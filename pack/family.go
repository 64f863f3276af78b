package pack

// Family is kernels for a range of an operator's problems on one architecture, and the tree that
// chooses among them. They take some dimensions when they run.
type Family struct {
	Tuned
	Range    [][]Span   `json:"range"` // for each dimension; the family serves nothing outside of it
	Variants []*Variant `json:"entries"`
	Tree     *Node      `json:"tree"`
	Regret   *Regret    `json:"regret,omitempty"` // on the device; absent: the files are for another architecture
}

// Span is all integers from the first to the last.
type Span [2]int64

// Variant is one kernel of a family. Its formulas name what the operator's formulas do, and what
// Define adds.
type Variant struct {
	Code[Formula]
	Define []Definition `json:"define"` // each after those that it names
	Where  []Formula    `json:"where"`  // conditions that a problem must meet
	Sizes  Sizes        `json:"sizes"`
}

// Sizes are the values that a kernel reads from constant memory. A loader writes them into a copy of
// the file as 32-bit little-endian integers, side by side.
type Sizes struct {
	At    int64    `json:"at"` // in the file, in bytes
	Names []string `json:"names"`
}

// Node is a part of a tree: a condition with a node for either case, or a leaf. The leaf's first entry that
// serves the problem runs. If none does, the general kernel runs.
type Node struct {
	If      *Formula `json:"if,omitempty"`
	Then    *Node    `json:"then,omitempty"`
	Else    *Node    `json:"else,omitempty"`
	Entries []int    `json:"entries,omitempty"`
}

// Regret is how slow what the tree chooses is against each shape's own best kernel.
type Regret struct {
	HeldOut Slowdown `json:"held_out"` // at shapes that the tree was not grown from
	Samples Slowdown `json:"samples"`
}

// Slowdown is a factor, over some shapes.
type Slowdown struct {
	Worst float64 `json:"worst"`
	Mean  float64 `json:"geometric_mean"`
	Of    int     `json:"of"` // shapes
}
