package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner/devices"
	"autotune/tuner/strategy"
)

// The tests of this file compare the names in the tables of docs/ with those in the code, in both directions, so that
// neither can have a name that the other lacks.

const repository = "../.."

// page reads a file of the repository as text.
func page(t *testing.T, path string) string {
	t.Helper()
	text := must.Read(t, filepath.Join(repository, path))
	return string(text)
}

// table returns the table below a header row of a page, as the cells of each row.
func table(t *testing.T, path, header string) [][]string {
	t.Helper()
	_, rest, found := strings.Cut(page(t, path), "\n| "+header+" |")
	if !found {
		t.Fatalf("%s has no table headed | %s |", path, header)
	}
	var rows [][]string
	for _, line := range strings.Split(rest, "\n")[2:] { // skip the header's rest and the line below it
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
		}
		rows = append(rows, cells)
	}
	return rows
}

var codeForm = regexp.MustCompile("`([^`]+)`")

// codes returns the words of a text that stand between backquotes.
func codes(text string) []string {
	var words []string
	for _, match := range codeForm.FindAllStringSubmatch(text, -1) {
		words = append(words, match[1])
	}
	return words
}

// column returns the words between backquotes in one column of a table.
func column(rows [][]string, at int) []string {
	var words []string
	for _, row := range rows {
		words = append(words, codes(row[at])...)
	}
	return words
}

// same reports names that are documented and do not exist, and names that exist and are not documented.
func same(t *testing.T, where string, documented, real []string) {
	t.Helper()
	for _, name := range documented {
		if !slices.Contains(real, name) {
			t.Errorf("%s has %s, which does not exist", where, name)
		}
	}
	for _, name := range real {
		if !slices.Contains(documented, name) {
			t.Errorf("%s lacks %s", where, name)
		}
	}
}

// everyCommand returns all commands and subcommands by their full names.
func everyCommand(prefix string, commands []*cli.Command) map[string]*cli.Command {
	all := map[string]*cli.Command{}
	for _, c := range commands {
		name := strings.TrimSpace(prefix + " " + c.Name)
		if all[name] = c; c.Name == "help" {
			continue
		}
		maps.Copy(all, everyCommand(name, c.Subcommands))
	}
	return all
}

func TestDocumentedCommands(t *testing.T) {
	text := page(t, "docs/cli.md")
	for name := range everyCommand("", newApp().Commands) {
		if !regexp.MustCompile("`" + name + "[` ]").MatchString(text) {
			t.Errorf("docs/cli.md lacks the command %s", name)
		}
	}
}

func TestDocumentedFlags(t *testing.T) {
	rows := table(t, "docs/cli.md", "command | its flags")
	documented := map[string][]string{}
	for _, row := range rows {
		documented[codes(row[0])[0]] = codes(row[1])
	}
	real := map[string][]string{}
	for name, c := range everyCommand("", newApp().Commands) {
		for _, f := range c.Flags {
			for _, spelled := range f.Names() {
				if dashes := "--"[:min(2, len(spelled))]; spelled != "help" && spelled != "h" {
					real[name] = append(real[name], dashes+spelled)
				}
			}
		}
	}
	same(t, "docs/cli.md, every flag", slices.Collect(maps.Keys(documented)), slices.Collect(maps.Keys(real)))
	every := []string{"--help", "-h", "--version"}
	for command, flags := range real {
		same(t, "docs/cli.md, flags of "+command, documented[command], flags)
		every = append(every, flags...)
	}
	flagForm := regexp.MustCompile("(?:^|[` ])(--?[a-z][a-z0-9-]*)")
	for _, code := range codes(page(t, "docs/cli.md")) {
		for _, match := range flagForm.FindAllStringSubmatch(code, -1) {
			if !slices.Contains(every, match[1]) {
				t.Errorf("docs/cli.md speaks of %s in `%s`, which no command has", match[1], code)
			}
		}
	}
}

func TestDocumentedExitCodes(t *testing.T) {
	var documented []string
	for _, row := range table(t, "docs/cli.md", "code | meaning") {
		documented = append(documented, row[0])
	}
	var real []string
	for _, code := range []int{exitFound, exitNoVariant, exitBadInput, exitDevice, exitInterrupted} {
		real = append(real, fmt.Sprint(code))
	}
	same(t, "docs/cli.md, exit codes", documented, real)
	for _, code := range real {
		if !regexp.MustCompile(`\b` + code + ` [a-z]`).MatchString(programDescription) {
			t.Errorf("`autotune help` lacks the exit code %s", code)
		}
	}
}

func TestDocumentedStatuses(t *testing.T) {
	var real []string
	for _, status := range trial.Statuses {
		real = append(real, string(status))
	}
	same(t, "docs/measuring.md, statuses", column(table(t, "docs/measuring.md", "status | meaning"), 0), real)
	var kinds []string
	for _, kind := range trial.WarningKinds {
		kinds = append(kinds, string(kind))
	}
	same(t, "docs/measuring.md, warnings", column(table(t, "docs/measuring.md", "kind | it stands for"), 0), kinds)
	same(t, "docs/recordings.md, statuses", column(table(t, "docs/recordings.md", "status | `invalidity`"), 0), real)
	_, rest, _ := strings.Cut(page(t, "docs/best-config.md"), "\nStatuses:")
	line, _, _ := strings.Cut(rest, "\n")
	same(t, "docs/best-config.md, statuses", codes(line), real)
}

func TestDocumentedNames(t *testing.T) {
	_, rest, _ := strings.Cut(page(t, "docs/cli.md"), "`--device` is ")
	sentence, _, _ := strings.Cut(rest, ". ")
	same(t, "docs/cli.md, devices", codes(sentence), devices.Forms())
	same(t, "docs/strategies.md, strategies", column(table(t, "docs/strategies.md", "name | idea"), 0), strategy.Names())
	same(t, "docs/cli.md, baselines", codes(rowOf(t, "docs/cli.md", "--baseline")[1]), append(baselineWords(), "torch_eager=7.1"))
	inputs := rowOf(t, "docs/writing-an-operator.md", "inputs")[2]
	for _, name := range operator.Distributions() {
		if !slices.Contains(codes(inputs), name) {
			t.Errorf("docs/writing-an-operator.md, inputs: lacks %s", name)
		}
	}
	kinds := rowOf(t, "docs/best-config.md", "device.kind")[2]
	for _, kind := range device.Kinds() {
		if !slices.Contains(codes(kinds), string(kind.Kind)) {
			t.Errorf("docs/best-config.md, device.kind: lacks %s", kind.Kind)
		}
	}
}

// rowOf finds the table row that begins with a word, in any table of a documentation page.
func rowOf(t *testing.T, path, word string) []string {
	t.Helper()
	for line := range strings.Lines(page(t, path)) {
		cells := strings.Split(line, " | ")
		if rest, found := strings.CutPrefix(cells[0], "| `"+word); found && strings.ContainsAny(rest[:1], "` ") {
			return cells
		}
	}
	t.Fatalf("%s has no row of %s", path, word)
	return nil
}

var linkForm = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Every link to a file of the repository must lead to a file that exists.
func TestDocumentedLinks(t *testing.T) {
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if name := d.Name(); err == nil && (name == ".git" || name == "build" || name == "demo") {
				return fs.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range linkForm.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") || target == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil {
				t.Errorf("%s links to %s, which is not there", path, match[1])
			}
		}
		return nil
	})
	must.OK(t, err)
}

// documentPaths collects the paths of all fields of a best-config document, written as docs/ writes them.
func documentPaths(prefix string, value any, found map[string]bool) {
	object, ok := value.(map[string]any)
	if !ok || slices.Contains([]string{"configuration", "macros", "problem.parameters", "trials.by_status", "search.spent"}, prefix) {
		found[prefix] = true
		return
	}
	for name, inner := range object {
		switch prefix {
		case "":
			documentPaths(name, inner, found)
		case "baselines":
			documentPaths("baselines.NAME", inner, found)
		default:
			documentPaths(prefix+"."+name, inner, found)
		}
	}
}

// docs/ must list every field that the best-config documents in this repository have.
func TestDocumentedBestConfig(t *testing.T) {
	var examples []string
	for _, pattern := range []string{"tuner/bestconfig/testdata/*.json", "docs/results/*/[a-r]*.json"} { // a summary is a list
		matches, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil || len(matches) == 0 {
			t.Fatal("no documents in", pattern, err)
		}
		examples = append(examples, matches...)
	}
	found := map[string]bool{}
	for _, path := range examples {
		text := must.Read(t, path)
		var document map[string]any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(path, err)
		}
		documentPaths("", document, found)
	}
	var documented []string
	for _, name := range column(table(t, "docs/best-config.md", "field | type | meaning"), 0) {
		if strings.HasPrefix(name, ".") { // continues the name of the object before it
			object, _, _ := strings.Cut(documented[len(documented)-1], ".")
			name = object + name
		}
		documented = append(documented, name)
	}
	for path := range found {
		if !slices.Contains(documented, path) {
			t.Errorf("docs/best-config.md lacks %s", path)
		}
	}
}

// The documented tables of element types and of ways to fill inputs must equal those of package operator.
func TestDocumentedTypes(t *testing.T) {
	const page = "docs/writing-an-operator.md"
	var documented, real []string
	for _, row := range table(t, page, "type | bytes | in CUDA C++ | compared within") {
		documented = append(documented, strings.Join([]string{codes(row[0])[0], row[1], codes(row[2])[0], row[3]}, " "))
	}
	for i, name := range operator.Types() {
		kind := operator.Type(name)
		if i >= len(documented) {
			t.Fatalf("%s: lacks the type %s", page, name)
		}
		within, err := strconv.ParseFloat(documented[i][strings.LastIndex(documented[i], " ")+1:], 64)
		if err != nil || within != kind.Tolerance() {
			t.Errorf("%s: `%s` has a tolerance of %v", page, documented[i], kind.Tolerance())
		}
		documented[i] = documented[i][:strings.LastIndex(documented[i], " ")]
		real = append(real, fmt.Sprintf("%s %d %s", name, kind.Bytes(), kind.CUDA()))
	}
	same(t, page+", types", documented, real)
}
