package prove

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"autotune/device"
	"autotune/internal/input"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/pack/packer"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
	"autotune/tuner/family"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

type Inputs struct {
	Winners  []cudasource.Winner
	Families []packer.Family

	Operators []*operator.Operator // pack only these; nil means all known operators
	Device    string               // pack what was found on this device, as in --device
	Emulated  bool                 // pack also what the emulator found
	Tool      string
	Find      func(name string) (*operator.Operator, error)
	Tell      func(text string)
}

// FromCache adds the winners of a cache, and the families in the folder next to the cache.
func (p *Inputs) FromCache(ctx context.Context, cache string) error {
	if err := errors.Join(p.keptWinners(ctx, cache), p.keptFamilies(ctx, cache)); err != nil {
		return err
	}
	if len(p.Winners)+len(p.Families) == 0 {
		return &winners.NoneError{Message: "the cache holds no winner to pack; run `autotune search` first, or name " +
			"architectures with --arch for those of the emulator"}
	}
	return nil
}

// operator finds the operator of a document, and returns nil if the user named operators to pack and this one is not
// among them.
func (p *Inputs) operator(name string) (*operator.Operator, error) {
	op, found := lists.First(p.Operators, func(op *operator.Operator) bool { return op.Name == name })
	if found || len(p.Operators) > 0 {
		return op, nil
	}
	return p.Find(name)
}

func (p *Inputs) keptWinners(ctx context.Context, cache string) (err error) {
	operators := p.Operators
	if len(operators) == 0 {
		if operators, err = operator.Operators(); err != nil {
			return err
		}
	}
	s, err := store.Open(ctx, cache, store.Options{ReadOnly: true, Wait: 5 * time.Second})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, op := range operators {
		kept, err := winners.List(s, op.Name)
		if err != nil {
			return err
		}
		for _, k := range kept {
			if !p.takes(k.Device, k.Protocol.Conditions) {
				continue
			}
			if err := p.winner(bestconfig.FromRecord(k.Record), op, winners.LimitsOf(k.Device), true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Inputs) winner(best bestconfig.Document, op *operator.Operator, limits operator.Limits, kept bool) error {
	w, err := cudasource.Of(best, op, limits, p.Tool)
	if err == nil {
		p.Winners = append(p.Winners, w)
	}
	return p.unlessEdited(err, kept)
}

func (p *Inputs) family(f *family.Family, op *operator.Operator, kept bool) error {
	one, err := packer.FamilyOf(f, op)
	if err == nil {
		p.Families = append(p.Families, one)
	}
	return p.unlessEdited(err, kept)
}

// unlessEdited turns an error about a cached winner or family whose kernels were edited into a notice.
func (p *Inputs) unlessEdited(err error, kept bool) error {
	if kept && errors.Is(err, cudasource.ErrSearchAgain) {
		p.Tell(fmt.Sprintf("left out: %v", err))
		return nil
	}
	return err
}

// takes reports whether a winner or family of a cache is packed. A packed winner must come from the device that the
// user named, from a GPU unless emulated winners are asked for, and have been timed under the usual conditions.
func (p *Inputs) takes(d device.Info, timed device.Conditions) bool {
	return winners.Request{Device: p.Device}.Means(d) && (p.Emulated || d.Kind.Properties().Caveat == "") &&
		timed == (device.Conditions{})
}

// FamiliesFolder returns the folder that holds the families of a cache.
func FamiliesFolder(cache string) string { return cache + ".families" }

// keptFamilies adds the families of a cache, the newest first, since packer takes the first family of each range.
func (p *Inputs) keptFamilies(ctx context.Context, cache string) error {
	files, err := filepath.Glob(filepath.Join(FamiliesFolder(cache), "*.json"))
	if err != nil {
		return err
	}
	var all []*family.Family
	for _, file := range files {
		list, err := input.File(ctx, file, family.Read)
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b *family.Family) int { return b.At.Compare(a.At) })
	for _, f := range all {
		if !p.takes(f.Device, f.Conditions) {
			continue
		}
		op, err := p.operator(f.Operator)
		if err != nil {
			p.Tell(fmt.Sprintf("left out %s: %v; name its folder to pack it", f, err))
		} else if op != nil {
			if err := p.family(f, op, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// FromFile adds the winners or the families in a file to those that the pack will contain.
func (p *Inputs) FromFile(ctx context.Context, path string) error {
	bests, families, err := ReadDocuments(ctx, path)
	if err != nil {
		return err
	}
	for _, best := range bests {
		op, err := p.operator(best.Operator)
		if err == nil && op != nil {
			err = p.winner(best, op, operator.TypicalLimits(), false)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range families {
		op, err := p.operator(f.Operator)
		if err == nil && op != nil {
			err = p.family(f, op, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// familyHead matches the beginning of a document with a family or a list of families.
var familyHead = regexp.MustCompile(`^\s*\[?\s*{\s*"schema":\s*"autotune/family/`)

func ReadDocuments(ctx context.Context, path string) (bests []bestconfig.Document, families []*family.Family,
	err error) {
	_, err = input.File(ctx, path, func(r io.Reader) (_ any, err error) {
		buffered := bufio.NewReader(r)
		if head, _ := buffered.Peek(200); familyHead.Match(head) {
			families, err = family.Read(buffered)
		} else {
			bests, err = bestconfig.ReadAll(buffered)
		}
		return nil, err
	})
	return bests, families, err
}
