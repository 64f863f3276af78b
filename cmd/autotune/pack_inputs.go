package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/internal/input"
	"autotune/operator"
	"autotune/pack/packer"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
	"autotune/tuner/family"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

// packing is what goes into a pack.
type packing struct {
	c         *cli.Context
	operators []*operator.Operator // those named; none: all
	winners   []cudasource.Winner
	families  []packer.Family
}

// packInputs are the winners and families that the arguments and flags mean.
func packInputs(c *cli.Context) (*packing, error) {
	p := &packing{c: c}
	for _, name := range c.Args().Tail() {
		op, err := findOperator(name)
		if err != nil {
			return nil, badInput(err)
		}
		p.operators = append(p.operators, op)
	}
	if c.IsSet("from") {
		return p, p.documents()
	}
	if err := errors.Join(p.keptWinners(), p.keptFamilies()); err != nil {
		return nil, err
	}
	if len(p.winners)+len(p.families) == 0 {
		const message = "the cache holds no winner to pack; run `autotune search` first, or name architectures with --arch for those of the emulator"
		return nil, &winners.NoneError{Message: message}
	}
	return p, nil
}

// operator finds a document's operator among those named or built in; nil: it is not asked for.
func (p *packing) operator(name string) (*operator.Operator, error) {
	if i := slices.IndexFunc(p.operators, func(op *operator.Operator) bool { return op.Name == name }); i >= 0 {
		return p.operators[i], nil
	}
	if len(p.operators) > 0 {
		return nil, nil
	}
	op, err := findOperator(name)
	return op, badInput(err)
}

// keptWinners are those of the cache.
func (p *packing) keptWinners() error {
	operators := p.operators
	if len(operators) == 0 {
		var err error
		if operators, err = operator.Operators(); err != nil {
			return err
		}
	}
	s, err := openStore(p.c, store.Options{ReadOnly: true, Wait: 5 * time.Second})
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
			w, ok, err := packedWinner(p.c, op, k)
			if err != nil {
				return err
			}
			if ok {
				p.winners = append(p.winners, w)
			}
		}
	}
	return nil
}

// keptFamilies are those beside the cache: of several for one range, the newest alone.
func (p *packing) keptFamilies() error {
	cache, err := cachePath(p.c)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(familiesFolder(cache), "*.json"))
	if err != nil {
		return err
	}
	var all []*family.Family
	for _, file := range files {
		list, err := input.File(p.c.Context, file, family.Read)
		if err != nil {
			return badInput(err)
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b *family.Family) int { return b.At.Compare(a.At) })
	for _, f := range all {
		if !packedOf(p.c, f.Device) || f.Conditions != (device.Conditions{}) {
			continue
		}
		op, err := p.operator(f.Operator)
		if err != nil {
			tell([]string{fmt.Sprintf("left out %s: %v; name its folder to pack it", f, err)})
		}
		if err != nil || op == nil {
			continue
		}
		one, err := packer.FamilyOf(f, op)
		if errors.Is(err, cudasource.ErrSearchAgain) {
			tell([]string{fmt.Sprintf("left out: %v", err)})
			continue
		}
		if err != nil {
			return err
		}
		p.families = append(p.families, one)
	}
	return nil
}

// packedOf tells whether what was found on a device is packed from a cache: on those that --device
// means, and of a GPU unless architectures are named.
func packedOf(c *cli.Context, d device.Info) bool {
	return winners.Request{Device: c.String("device")}.Means(d) && (d.Kind.Properties().Caveat == "" || len(archsOf(c)) > 0)
}

// packedWinner is a winner that the cache keeps, if it is one to pack: by time, under the
// usual conditions, and of a GPU unless architectures are named.
func packedWinner(c *cli.Context, op *operator.Operator, k winners.Kept) (cudasource.Winner, bool, error) {
	if !packedOf(c, k.Device) || k.Objective != "" || k.Protocol.Conditions != (device.Conditions{}) {
		return cudasource.Winner{}, false, nil
	}
	w, err := cudasource.Of(bestconfig.FromRecord(k.Record), op, winners.LimitsOf(k.Device), tool())
	if errors.Is(err, cudasource.ErrSearchAgain) {
		tell([]string{fmt.Sprintf("left out %s: %v", k.Problem.Text, err)})
		return w, false, nil
	}
	return w, err == nil, err
}

// familyHead is how the document of a family begins, or a list of them.
var familyHead = regexp.MustCompile(`^\s*\[?\s*{\s*"schema":\s*"autotune/family/`)

// documents reads the files of --from.
func (p *packing) documents() error {
	for _, path := range p.c.StringSlice("from") {
		_, err := input.File(p.c.Context, path, func(r io.Reader) (any, error) {
			buffered := bufio.NewReader(r)
			if head, _ := buffered.Peek(200); familyHead.Match(head) {
				return nil, p.familiesOf(buffered)
			}
			return nil, p.bestsOf(buffered)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *packing) familiesOf(r io.Reader) (err error) {
	list, err := family.Read(r)
	if err != nil {
		return badInput(err)
	}
	p.families, err = asked(p, p.families, list, func(f *family.Family) string { return f.Operator }, packer.FamilyOf)
	return err
}

func (p *packing) bestsOf(r io.Reader) (err error) {
	list, err := bestconfig.ReadAll(r)
	if err != nil {
		return badInput(err)
	}
	of := func(best bestconfig.Document, op *operator.Operator) (cudasource.Winner, error) {
		return cudasource.Of(best, op, operator.TypicalLimits(), tool())
	}
	p.winners, err = asked(p, p.winners, list, func(best bestconfig.Document) string { return best.Operator }, of)
	return err
}

// asked adds what documents say of operators that are asked for.
func asked[D, T any](p *packing, known []T, list []D, name func(D) string, of func(D, *operator.Operator) (T, error)) ([]T, error) {
	for _, d := range list {
		op, err := p.operator(name(d))
		if err != nil {
			return nil, err
		}
		if op == nil {
			continue
		}
		one, err := of(d, op)
		if err != nil {
			return nil, err
		}
		known = append(known, one)
	}
	return known, nil
}
