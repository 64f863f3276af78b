package pack

// Family holds kernels for a range of an operator's problems on one architecture, and the decision tree that chooses
// one of them for a problem. The kernels of a family read some dimensions of the problem at run time.
type Family struct {
	Tuned
	Range    [][]Span   `json:"range"` // spans for each dimension; other problems are not served
	Variants []*Variant `json:"entries"`
	Tree     *Node      `json:"tree"`
	Regret   *Regret    `json:"regret,omitempty"` // absent if the files are for another architecture
}

// Span is the range of integers from the first to the last, both included.
type Span [2]int64

// Variant is one kernel of a family. A variant's formulas may use the names in the operator's formulas and in Define.
type Variant struct {
	Code[Formula]
	Define []Definition `json:"define"` // each may use the names defined before it
	Where  []Formula    `json:"where"`  // conditions that a problem must meet
	Sizes  Sizes        `json:"sizes"`
}

// Sizes lists the values that a kernel reads from constant memory. A loader writes the values of Sizes into a copy of
// the kernel's binary as adjacent 32-bit little-endian integers.
type Sizes struct {
	At    int64    `json:"at"` // offset in the file, in bytes
	Names []string `json:"names"`
}

// Node is a node of a family's tree: a condition with a node for either case, or a leaf. A leaf lists entries, of which
// a loader runs the first that serves the problem. If no entry of a leaf serves the problem, the loader runs the
// general kernel.
type Node struct {
	If      *Formula `json:"if,omitempty"`
	Then    *Node    `json:"then,omitempty"`
	Else    *Node    `json:"else,omitempty"`
	Entries []int    `json:"entries,omitempty"`
}

// Regret says how much slower the kernels chosen by the tree are than each shape's own best kernel.
type Regret struct {
	HeldOut Slowdown `json:"held_out"` // shapes that the tree was not trained on
	Samples Slowdown `json:"samples"`
}

// Slowdown summarizes factors by which kernels are slower than the best, over a number of shapes.
type Slowdown struct {
	Worst float64 `json:"worst"`
	Mean  float64 `json:"geometric_mean"`
	Of    int     `json:"of"` // number of shapes
}
