package compile

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"autotune/internal/cubin"
	"autotune/internal/scratch"
	"autotune/internal/worker"
)

// Mix is which instructions a binary is made of: how many of each kind stand in its code, not how
// often they run.
type Mix struct {
	Instructions int    `json:"instructions"`
	Kinds        []Part `json:"kinds,omitempty"` // the most first; none: only the notes were read
	// Together are those that the lanes of a warp execute together, by the notes.
	Together int    `json:"together,omitempty"`
	By       string `json:"by"` // the program that told, or "the cubin's notes"
}

// Part is how many of a mix are of a kind.
type Part struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// The kinds of instructions that others ask for.
const (
	TensorCores  = "tensor cores"
	SharedMemory = "shared memory"
	LocalMemory  = "local memory"
)

// kinds are those of instructions, by what their names begin with; the first that fits counts.
var kinds = []struct {
	kind  string
	names []string
}{
	{TensorCores, []string{"HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "BGMMA", "QGMMA", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA"}},
	{"asynchronous copies", []string{"LDGSTS", "UTMA", "UBLKCP", "UBLKPF", "UBLKRED", "LDTM", "STTM", "UTCCP"}},
	{"global memory", []string{"LDG", "STG", "RED", "ATOMG", "ATOM", "LD", "ST", "CCTL"}},
	{SharedMemory, []string{"LDS", "STS", "LDSM", "STSM", "ATOMS"}},
	{LocalMemory, []string{"LDL", "STL"}},
	{"constants", []string{"LDC", "LDCU", "ULDC"}},
	{"exchange in a warp", []string{"SHFL", "VOTE", "VOTEU", "MATCH", "REDUX", "CREDUX"}},
	{"synchronisation", []string{"BAR", "BARRIER", "SYNCS", "WARPSYNC", "WARPGROUP", "WARPGROUPSET", "DEPBAR", "LDGDEPBAR", "MEMBAR", "FENCE", "ERRBAR", "ELECT", "UCGABAR_ARV", "UCGABAR_WAIT", "ARRIVES", "ACQBULK", "NANOSLEEP", "USETMAXREG"}},
	{"special functions", []string{"MUFU"}},
	{"conversions", []string{"F2F", "F2I", "I2F", "F2FP", "I2FP", "F2IP", "I2I", "FRND", "I2IP"}},
	{"floating point", []string{"FFMA", "FFMA2", "FADD", "FADD2", "FMUL", "FMUL2", "FMNMX", "FMNMX3", "FSEL", "FSET", "FSETP", "FCHK", "FSWZADD", "HFMA2", "HADD2", "HMUL2", "HMNMX2", "HSET2", "HSETP2", "DFMA", "DADD", "DMUL", "DSETP"}},
	{"branches", []string{"BRA", "BRX", "BRXU", "JMP", "EXIT", "CALL", "RET", "BSSY", "BSYNC", "BREAK", "BMOV", "YIELD", "KILL", "BPT", "RPCMOV"}},
}

// addresses is the kind of all other instructions: integers, moves, predicates.
const addresses = "integers and addresses"

var kindOf = func() map[string]string {
	all := map[string]string{}
	for _, k := range kinds {
		for _, name := range k.names {
			all[name] = k.kind
		}
	}
	return all
}()

// disassembled is a line of either disassembler: the instruction's place, perhaps a predicate, its name.
var disassembled = regexp.MustCompile(`^\s*/\*[0-9a-f]{4,}\*/\s+\{?\s*(?:@!?U?P[0-9T]+\s+)?([A-Z][A-Z0-9_]*)`)

// mixOf counts what a disassembler prints.
func mixOf(text string) (m Mix) {
	count := map[string]int{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		found := disassembled.FindStringSubmatch(lines.Text())
		if found == nil || found[1] == "NOP" {
			continue
		}
		kind := kindOf[found[1]]
		if kind == "" && strings.HasPrefix(found[1], "UTMA") {
			kind = "asynchronous copies"
		}
		count[cmp.Or(kind, addresses)]++
		m.Instructions++
	}
	for kind, n := range count {
		m.Kinds = append(m.Kinds, Part{kind, n})
	}
	slices.SortFunc(m.Kinds, func(a, b Part) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind)) })
	return m
}

// disassemblers are NVIDIA's programs, with what stands before the file.
var disassemblers = []struct {
	name  string
	flags []string
}{{"nvdisasm", []string{"-c"}}, {"cuobjdump", []string{"-sass"}}}

// disassembleLimit is what a disassembler may take.
const disassembleLimit = 30 * time.Second

// MixOf says what a cubin is made of: by a disassembler, where there is one, and else by the
// cubin's own notes.
func MixOf(ctx context.Context, code []byte) (Mix, error) {
	notes, err := cubin.ReadNotes(code)
	if err != nil {
		return Mix{}, err
	}
	for _, d := range disassemblers {
		path := FindTool(d.name)
		if path == "" {
			continue
		}
		text, err := disassemble(ctx, path, d.flags, code)
		if m := mixOf(text); err == nil && m.Instructions > 0 {
			m.Together, m.By = notes.Together, d.name
			return m, nil
		}
		if ctx.Err() != nil {
			return Mix{}, ctx.Err()
		}
	}
	return Mix{Instructions: notes.Instructions, Together: notes.Together, By: "the cubin's notes"}, nil
}

func disassemble(ctx context.Context, program string, flags []string, code []byte) (text string, err error) {
	folder, err := scratch.New("mix")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	file := filepath.Join(folder.Dir, "kernel.cubin")
	if err := os.WriteFile(file, code, 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, disassembleLimit)
	defer cancel()
	command := exec.CommandContext(ctx, program, append(slices.Clone(flags), file)...)
	said := &worker.Output{}
	command.Stderr = said
	command.WaitDelay = time.Second
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(program), err, said)
	}
	return string(out), nil
}
