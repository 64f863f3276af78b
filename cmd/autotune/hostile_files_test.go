package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
)

// These constants limit the processor time and the memory with which the program must refuse a file, and how long the
// test waits on a busy machine. Since machines differ, refusalTime is several times the processor time that the slowest
// file takes (docs/reliability.md). A program whose work grows with the square of the file's size, or without bound,
// needs far longer than refusalTime.
const (
	refusalTime   = 3 * time.Second
	refusalMB     = 256
	refusalWait   = 20 * time.Second
	refusalMostMB = 4096 // limit on virtual memory, to protect the machine
)

// reader describes a command that reads one kind of file, and the bounds on such a file.
type reader struct {
	kind    string
	command string // FILE is the file, FOLDER the operator's folder
	file    string // the file's name in the operator's folder, if it is there
	bytes   int    // bounds on the file, from docs/reliability.md
	values  int
	items   int // the most items of one list
	packed  bool
	places  []string // documents with %s in place of the hostile content
}

var readers = []reader{
	{kind: "problems", command: "search --problems FILE --device emulator --budget 1 --no-cache -q", bytes: 256 << 10, values: 60_000,
		places: []string{"%s", "- {operator: max_pool2d, shape: %s}"}},
	{kind: "space", command: "space --file FILE", bytes: 8 << 20, values: 500_000,
		places: []string{`{"params": %s, "constraints": ["a <"]}`, `{"params": {"a": %s, "": [1]}}`}},
	{kind: "op.yaml", command: "ops show FOLDER", file: "op.yaml", bytes: 256 << 10, values: 60_000,
		places: []string{"%s", "templates:\n  - tunables: {a: %s}"}},
	{kind: "source", command: "ops show FOLDER", file: "direct.cu", bytes: 256 << 10, places: []string{"%s"}},
	{kind: "include", command: "ops show FOLDER", file: "part.cuh", bytes: 256 << 10, places: []string{"#include \"absent.cuh\"\n%s"}},
	{kind: "recording", command: "simulate FILE", bytes: 32 << 20, values: 3_000_000, items: 100_000,
		places: []string{`{"results": %s}`, `{"results": [{"configuration": %s}]}`, `{"tune_params_keys": ["a"], "tune_params": {"a": %s}, "cache": {}}`}},
	{kind: "recording, gzip", command: "simulate FILE", bytes: 32 << 20, values: 3_000_000, items: 100_000, packed: true, places: []string{`{"results": %s}`}},
	{kind: "replay", command: "search max_pool2d --shape 1x1x9x9 --no-cache -q --device replay:FILE", bytes: 32 << 20, values: 3_000_000, items: 100_000,
		places: []string{`{"schema_version": "1.0.0", "results": %s}`}},
	{kind: "report", command: "report FILE", bytes: 4 << 20, values: 300_000, places: []string{`{"winner": %s}`}},
	{kind: "export", command: "export --from FILE --format json", bytes: 4 << 20, values: 300_000, places: []string{"%s"}},
	{kind: "family", command: "pack out --from FILE", bytes: 16 << 20, values: 1_000_000, items: 10_000, places: []string{`{"schema": "autotune/family/1", "samples": %s}`}},
}

// most is how often a text can be repeated in one list or object before the reader's bounds are exceeded.
func (r reader) most(text string) int {
	n := r.room(text, 1)
	if r.items > 0 {
		n = min(n, r.items-100)
	}
	return n
}

// room returns how often a text that holds the given number of values can be repeated within the bounds on a file.
func (r reader) room(text string, values int) int {
	n := r.bytes / len(text)
	if r.values > 0 {
		n = min(n, r.values/values)
	}
	return n * 99 / 100
}

// content is what a hostile file contains.
type content struct {
	name    string
	text    func(reader) io.Reader
	endless bool
}

var contents = []content{
	{"zeros without end", func(reader) io.Reader { return again("\x00", 1<<50) }, true},
	{"blanks without end", func(reader) io.Reader { return again(" ", 1<<50) }, true},
	{"100,000 [", func(reader) io.Reader { return again("[", 100_000) }, false},
	{"100,000 {", func(reader) io.Reader { return again(`{"a":`, 100_000) }, false},
	{"200,000 items", func(reader) io.Reader { return list(again("1,", 200_000)) }, false},
	{"numbers up to the bound", func(r reader) io.Reader { return list(again("1,", r.most("1,"))) }, false},
	{"objects up to the bound", func(r reader) io.Reader { return list(again("{},", r.room("{},", 21))) }, false},
	{"lists up to the bound", func(r reader) io.Reader {
		thousand := "[" + strings.Repeat("1,", 999) + "1],"
		return list(again(thousand, r.room(thousand, 1000)))
	}, false},
	{"keys up to the bound", func(r reader) io.Reader { return keys(r.most(`"a1000000":1,`)) }, false},
	{"a string up to the bound", func(r reader) io.Reader {
		return io.MultiReader(strings.NewReader(`"`), again("a", min(r.bytes, 1<<20)-1000), strings.NewReader(`"`))
	}, false},
	{"a string of all bytes", func(r reader) io.Reader {
		return io.MultiReader(strings.NewReader(`"`), again("a", r.bytes-1000), strings.NewReader(`"`))
	}, false},
	{"a string of two lines", func(reader) io.Reader { return strings.NewReader(`"a` + "\n" + `b"`) }, false},
	{"aliases of aliases", func(reader) io.Reader { return strings.NewReader(aliases()) }, false},
}

// packedBomb is a gzip file that unpacks to 1 GiB. The tests try packedBomb only as a whole file, since no field of a
// document can be compressed.
var packedBomb = content{"a bomb of 1 GiB", func(reader) io.Reader { return bytes.NewReader(bomb()) }, false}

// Every kind of file that a user can name must be refused, if it is wrong, with a one-line error and at little cost.
func TestHostileFiles(t *testing.T) {
	testneeds.Nothing(t)
	if testing.Short() {
		t.Skip("starts the program for every hostile file")
	}
	for _, r := range readers {
		t.Run(r.kind+"/"+packedBomb.name, func(t *testing.T) {
			t.Parallel()
			r.packed = false // the bomb is compressed already
			mustRefuse(t, r, packedBomb, "%s")
		})
		for _, c := range endurance.Some(contents, 4) {
			// Try endless content in one place of a document only, since the reader counts bytes alike everywhere.
			for n, place := range r.places[:endurance.Times(1, len(r.places))] {
				if c.endless && n > 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", r.kind, c.name, n), func(t *testing.T) {
					t.Parallel()
					mustRefuse(t, r, c, place)
				})
			}
		}
	}
}

func mustRefuse(t *testing.T, r reader, c content, place string) {
	folder := t.TempDir()
	path := filepath.Join(folder, "hostile.json")
	if r.file != "" {
		ownOperator(t, folder)
		path = filepath.Join(folder, r.file)
		must.OK(t, os.Remove(path))
	}
	before, after, _ := strings.Cut(place, "%s")
	text := io.MultiReader(strings.NewReader(before), c.text(r), strings.NewReader(after))
	if c.endless {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		// A pipe that is opened for reading and writing does not make the test wait until the program opens it.
		pipe, err := os.OpenFile(path, os.O_RDWR, 0)
		must.OK(t, err)
		defer pipe.Close()
		go fill(pipe, text, r.packed)
	} else {
		f, err := os.Create(path)
		if err == nil {
			err = errors.Join(fill(f, text, r.packed), f.Close())
		}
		must.OK(t, err)
	}
	line := strings.NewReplacer("FILE", path, "FOLDER", folder).Replace(r.command)
	refused(t, strings.Fields(line))
}

// fill writes a text to a file, compressed with gzip if packed is set.
func fill(w io.Writer, text io.Reader, packed bool) error {
	if !packed {
		_, err := io.Copy(w, text)
		return err
	}
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, err = io.Copy(zip, text)
	return errors.Join(err, zip.Close())
}

// refused runs the program, which must exit with a one-line error and the code for bad input, within the bounds.
func refused(t *testing.T, arguments []string) {
	t.Helper()
	limited := append([]string{"-c", fmt.Sprintf(`ulimit -v %d; exec autotune "$@"`, refusalMostMB<<10), "sh"}, arguments...)
	command, complaint := prepared(t, "sh", limited...)
	var out bytes.Buffer
	command.Stdout = &out
	e := end(t, command, complaint)
	if e.code != exitBadInput || strings.Count(e.complaint, "\n") != 1 || out.Len() > 0 || len(e.complaint) > 2000 {
		t.Errorf("exit code %d, %d bytes of output, want %d, and one line as its complaint, not:\n%.2000s", e.code, out.Len(), exitBadInput, e.complaint)
	}
	if e.seconds > refusalTime.Seconds() || e.mb > refusalMB {
		t.Errorf("it took %.2f s of processor time and %d MB; want %s and %d MB at most", e.seconds, e.mb, refusalTime, refusalMB)
	}
}

// ownOperator writes a correct operator into a folder, with a CUDA file that includes a second one.
func ownOperator(t *testing.T, folder string) {
	t.Helper()
	err := os.CopyFS(folder, os.DirFS("../../internal/test/testoperators/testdata/affine"))
	source, err2 := os.ReadFile(filepath.Join(folder, "direct.cu"))
	err3 := os.WriteFile(filepath.Join(folder, "direct.cu"), append([]byte("#include \"part.cuh\"\n"), source...), 0o600)
	err4 := os.WriteFile(filepath.Join(folder, "part.cuh"), []byte("\n"), 0o600)
	must.OK(t, errors.Join(err, err2, err3, err4))
}

// The operator into whose folder the tests write hostile files must load without these files, since otherwise the tests
// would prove nothing.
func TestHostileFilesInRightOperator(t *testing.T) {
	testneeds.Nothing(t)
	folder := t.TempDir()
	ownOperator(t, folder)
	c, complaint := prepared(t, "autotune", "ops", "show", folder)
	if e := end(t, c, complaint); e.code != exitFound {
		t.Error(e.complaint)
	}
}

// repeated reads a text again and again, up to a number of bytes.
type repeated struct {
	text []byte
	left int // bytes still to read
	at   int
}

func again(text string, n int) io.Reader {
	many := max(1, 1<<16/len(text))
	return &repeated{text: bytes.Repeat([]byte(text), many), left: n * len(text)}
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.left)], r.text[r.at:])
	r.left -= n
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// list makes a list in JSON from items that each end with a comma.
func list(items io.Reader) io.Reader {
	return io.MultiReader(strings.NewReader("["), items, strings.NewReader("1]"))
}

// keys makes an object in JSON with n keys.
func keys(n int) io.Reader {
	var text bytes.Buffer
	text.WriteString(`{"a":1`)
	for i := range n {
		fmt.Fprintf(&text, `,"a%d":1`, i)
	}
	text.WriteString("}")
	return &text
}

// aliases makes a YAML document of a few lines whose aliases would expand to 10^9 items.
func aliases() string {
	text := "\n  - &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		text += fmt.Sprintf("  - &a%d [%s*a%d]\n", i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return text
}

// bomb is a gigabyte of spaces, compressed with gzip in 64 parts.
var bomb = sync.OnceValue(func() []byte {
	var part bytes.Buffer
	_ = fill(&part, again(" ", 16<<20), true) // a buffer cannot fail
	return bytes.Repeat(part.Bytes(), 64)
})
