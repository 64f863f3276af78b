package t1

import (
	"encoding/json"
	"slices"
	"strings"

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/operator"
)

// made are the template's launches but for those that no configuration of this problem makes;
// all, where none is made, since a document has one. The document's comes first: the first that
// all configurations make, if there is one.
func (e *exporter) made() []operator.LaunchSpec {
	var always, made []operator.LaunchSpec
	for _, l := range e.template.Launches {
		switch is, known := e.isMade(l); {
		case known && is && always == nil:
			always = []operator.LaunchSpec{l}
		case is || !known:
			made = append(made, l)
		}
	}
	if made = append(always, made...); len(made) == 0 {
		return e.template.Launches
	}
	return made
}

// isMade tells whether configurations of this problem make a launch, where it does not depend on which.
func (e *exporter) isMade(l operator.LaunchSpec) (is, known bool) {
	if l.When == nil {
		return true, true
	}
	folded := e.fold.Fold(l.When.Code().Root())
	if folded.Op != expr.OpConst {
		return false, false
	}
	return folded.Value.Truth(), true
}

// launch writes block, grid and shared memory. The problem's size is the grid, divided
// by one: tools that divide it arrive at the same.
func (e *exporter) launch(k *kernelSpecification) {
	t := &e.launches[0]
	e.beyond()
	axis := func(what string, f operator.Formula) string { return e.text(what, f.Code(), e.python) }
	k.LocalSize = extent{axis("block", t.Block[0]), axis("block", t.Block[1]), axis("block", t.Block[2])}
	k.GlobalSize = extent{axis("grid", t.Grid[0]), axis("grid", t.Grid[1]), axis("grid", t.Grid[2])}
	k.ProblemSize = []string{k.GlobalSize.X, k.GlobalSize.Y, k.GlobalSize.Z}
	shared := axis("shared memory", t.Shared)
	if k.SharedMemory = shared; strings.Trim(shared, "0123456789") == "" {
		k.SharedMemory = json.Number(shared)
	} else {
		e.note("SharedMemory is %s; T1 has a number there", shared)
	}
	for i, name := range []string{"block_size_x", "block_size_y", "block_size_z"} {
		if own := []string{k.LocalSize.X, k.LocalSize.Y, k.LocalSize.Z}[i]; own != "1" && own != name {
			e.note("LocalSize is %s in %s; Kernel Tuner takes a block's size from tuning parameters called block_size_x, block_size_y and block_size_z", own, axes[i])
		}
	}
}

// beyond notes what T1 has no place for: it knows one launch of a grid of blocks.
func (e *exporter) beyond() {
	first, launches := &e.launches[0], e.launches
	if len(launches) > 1 {
		var others []string
		for i := range launches[1:] {
			if entry := launches[i+1].Entry.Text; entry != first.Entry.Text && !slices.Contains(others, entry) {
				others = append(others, entry)
			}
		}
		e.note("the launches of %s beside that of %s; T1 has one launch", strings.Join(others, ", "), first.Entry.Text)
	}
	if first.Cluster != nil {
		e.note("thread-block clusters; T1 has none")
	}
	if !first.Cooperative.Never() {
		e.note("the cooperative launch; T1 has none")
	}
	if strings.Contains(first.Entry.Text, "{") {
		e.note("KernelName is %s, where the names in braces stand for tunables", first.Entry.Text)
	}
}

// flags writes the compiler's flags. Those that depend on tunables have no place.
func (e *exporter) flags(k *kernelSpecification) {
	for _, flag := range e.template.Flags {
		if strings.Contains(flag.Text, "{") {
			e.note("the compiler flag %s, which depends on tunables", flag.Text)
			continue
		}
		k.CompilerOptions = append(k.CompilerOptions, flag.Text)
	}
}

// PartOf is the part of a space that is a template's.
func PartOf(s *space.Space, template string) (space.Part, bool) {
	for _, part := range s.Parts() {
		if part.Template == template {
			return part, true
		}
	}
	return space.Part{}, false
}
