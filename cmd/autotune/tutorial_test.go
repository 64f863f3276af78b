package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"autotune/device/emulator"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
)

// blockForm matches a fenced block of a page: its language, an optional file name, and its text.
var blockForm = regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```$")

// TestTutorial runs the commands of docs/tutorial.md and counts them.
func TestTutorial(t *testing.T) {
	testneeds.Nothing(t)
	dir, commands := followPage(t, "docs/tutorial.md")
	if !strings.Contains(page(t, "docs/tutorial.md"), "\nSeven commands ") || commands != 7 {
		t.Errorf("the page has %d commands, and says another number", commands)
	}
	for _, made := range []string{"smooth.json", "smooth_tuned.cu"} {
		if info, err := os.Stat(filepath.Join(dir, made)); err != nil || info.Size() == 0 {
			t.Errorf("no %s was made: %v", made, err)
		}
	}
}

// README.md must show what `make demo` prints on a machine without a GPU.
func TestReadmeShowsTheDemo(t *testing.T) {
	const command = "autotune search conv2d --shape 16x16x1024x1024"
	_, after, found := strings.Cut(page(t, "README.md"), "    $ "+command+"\n")
	shown, _, ended := strings.Cut(after, "\n`winner` is what to use")
	if !found || !ended {
		t.Fatal("README.md shows no search")
	}
	shown = strings.TrimSpace(regexp.MustCompile(`(?m)^    `).ReplaceAllString(shown, ""))
	printed := strings.TrimSpace(runIn(t, t.TempDir(), command+" -q"))
	clock := regexp.MustCompile(`evaluated in [0-9.]+ m?s`)
	for _, text := range []*string{&shown, &printed} {
		*text = clock.ReplaceAllString(*text, "evaluated in 1 s")
	}
	if shown != printed {
		t.Errorf("README.md shows\n%s\nthe command prints\n%s", shown, printed)
	}
}

// The Go code in README.md must consist of lines of a program that the tests compile.
func TestReadmeShowsTheLibrary(t *testing.T) {
	_, after, found := strings.Cut(page(t, "README.md"), "```go\n")
	shown, _, ended := strings.Cut(after, "```\n")
	program := page(t, "examples/library/main.go")
	for line := range strings.Lines(shown) {
		if !found || !ended || !strings.Contains(program, "\t"+line) {
			t.Errorf("README.md shows %sand examples/library has no such line", line)
		}
	}
}

// The kernel that docs/coming-from.md compares with those of other tuners must be correct.
func TestComingFrom(t *testing.T) {
	testneeds.Nothing(t)
	if _, commands := followPage(t, "docs/coming-from.md"); commands != 1 {
		t.Errorf("the page has %d commands", commands)
	}
}

// followPage writes the named files of a page into a folder, runs the page's commands there, and compares their output
// with the page's. followPage returns the folder and the number of commands. followPage ignores fenced blocks that are
// neither files, commands nor output.
func followPage(t *testing.T, path string) (dir string, commands int) {
	t.Helper()
	needEmulator(t)
	dir = t.TempDir()
	must.OK(t, compiledTogether(t)(filepath.Join(dir, ".cache")))
	said := ""
	for _, block := range blockForm.FindAllStringSubmatch(page(t, path), -1) {
		language, name, body := block[1], block[2], block[3]
		switch language {
		case "cuda":
			must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644))
		case "sh":
			said = ""
			for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
				said += runIn(t, dir, line)
				commands++
			}
		case "text":
			saysInOrder(t, said, body)
		}
	}
	return dir, commands
}

// needEmulator skips a test in short runs and on machines without a C++ compiler.
func needEmulator(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles for some seconds")
	}
	c, err := emulator.Open(emulator.Options{})
	testneeds.CXX.Opened(t, err, emulator.ErrNoCompiler)
	c.Close()
}

// runIn runs a command in a folder, with a cache of its own and without a GPU, and returns what the command prints.
func runIn(t *testing.T, dir, line string) string {
	t.Helper()
	out, err := commandIn(dir, line).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%s: %v\n%s%s", line, err, out, failed.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// commandIn prepares a command to run in a folder, with a cache in that folder and without a GPU.
func commandIn(dir, line string) *exec.Cmd {
	words := strings.Fields(line)
	command := exec.Command(words[0], words[1:]...)
	command.Dir = dir
	command.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, ".cache"), "CUDA_VISIBLE_DEVICES=")
	return command
}

// number and blanks match what differs between runs: numbers, and the spaces that depend on the numbers' widths.
var number, blanks = regexp.MustCompile(`\d[\d.]*(?:e-?\d+)?`), regexp.MustCompile(`\s+`)

func withoutNumbers(line string) string {
	return strings.TrimSpace(blanks.ReplaceAllString(number.ReplaceAllString(line, "#"), " "))
}

// saysInOrder fails unless the given lines, apart from their numbers, appear in a text in this order.
func saysInOrder(t *testing.T, text, lines string) {
	t.Helper()
	var rest []string
	for _, line := range strings.Split(text, "\n") {
		rest = append(rest, withoutNumbers(line))
	}
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		at := slices.Index(rest, withoutNumbers(line))
		if at < 0 {
			t.Errorf("the page shows a line that is not printed there: %s\n%s", line, text)
			return
		}
		rest = rest[at+1:]
	}
}
