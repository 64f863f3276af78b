// Package docs_test holds the project's prose to a few rules that a program can
// check: how long sentences and lines are, and how clauses open. CONTRIBUTING.md
// has the rules. They do not replace reading a text aloud.
package docs_test

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostWords   = 25  // in a sentence
	mostColumns = 120 // in a line of a page, but for tables and code
)

// Sentences of these files are not the project's own, or are made by a program, or
// tell of versions that are gone.
var leftOut = []string{"docs/results", "testdata", "CHANGELOG.md"}

var (
	opening  = regexp.MustCompile(`(?i)(?:^|[,;:(]\s+)(of which|of whose|of none|that is none|what is|how manieth)\b`)
	sentence = regexp.MustCompile("(;|[.!?:]\\)?)\\s+([A-Z`*(\\[])|(;)\\s+()")
	word     = regexp.MustCompile("[A-Za-z0-9_`]\\S*")
	link     = regexp.MustCompile(`\]\([^)]*\)`)
	span     = regexp.MustCompile("`[^`]*`")
)

// A passage is a paragraph, a list's item, a comment, or what stands between a table's bars and semicolons.
type passage struct {
	line int
	text string
}

func TestProse(t *testing.T) {
	root := ".."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "build", "demo"}, name):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir() || slices.ContainsFunc(leftOut, func(part string) bool { return strings.Contains(name, part) }):
			return nil
		}
		read := readers[filepath.Ext(path)]
		if read == nil {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, p := range read(string(text)) {
			for _, fault := range faults(p.text, filepath.Ext(path) != ".md") {
				t.Errorf("%s:%d: %s", name, p.line, fault)
			}
		}
		if filepath.Ext(path) == ".md" {
			for line, columns := range wide(string(text)) {
				t.Errorf("%s:%d: the line has %d columns; wrap it at %d", name, line, columns, mostColumns)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// faults are what is to be mended in a passage. A comment opens with the name that it
// is about, so a small letter may
// begin a sentence there, and a colon ends one.
func faults(text string, comment bool) []string {
	var all []string
	plain := span.ReplaceAllString(link.ReplaceAllString(text, "]"), "`x`")
	if comment {
		plain = strings.NewReplacer(": ", "; ", ". ", "; ").Replace(plain)
	}
	for _, s := range strings.Split(sentence.ReplaceAllString(plain, "$1$3\x00$2$4"), "\x00") {
		if n := len(word.FindAllString(s, -1)); n > mostWords {
			all = append(all, "a sentence of "+strconv.Itoa(n)+" words: "+head(s))
		}
		if m := opening.FindStringSubmatch(s); m != nil {
			all = append(all, "a clause opens with \""+m[1]+"\": "+head(s))
		}
	}
	return all
}

func TestFaults(t *testing.T) {
	long := strings.Repeat("word ", mostWords)
	for _, test := range []struct {
		text string
		want int
	}{
		{"A short sentence. Another one.", 0},
		{long + "more.", 1},
		{long + "ends. Another begins.", 1},
		{strings.TrimSpace(long) + ".", 0},
		{"Ten variants, of which two are wrong.", 1},
		{"It says what is wrong.", 0},
		{"What is kept stays.", 1},
	} {
		if got := faults(test.text, false); len(got) != test.want {
			t.Errorf("%q: %q, want %d", test.text, got, test.want)
		}
	}
}

// readers find the passages of a file, by its extension.
var readers = map[string]func(string) []passage{".md": page, ".go": comments, ".cu": comments, ".cuh": comments}

var item = regexp.MustCompile(`^\s*([-*]|\d+\.)\s+`)

// page reads Markdown. Headings and code blocks are left out.
func page(text string) []passage {
	var all []passage
	var fenced, open bool
	for line, l := range lines(text) {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced, open = !fenced, false
			continue
		}
		switch {
		case fenced, strings.TrimSpace(l) == "", strings.HasPrefix(l, "#"), strings.HasPrefix(l, "    ") && !open:
			open = false
		case strings.HasPrefix(l, "|"):
			open = false
			for _, part := range strings.FieldsFunc(l, func(r rune) bool { return r == '|' || r == ';' }) {
				all = append(all, passage{line, strings.TrimSpace(part)})
			}
		case open && !item.MatchString(l):
			all[len(all)-1].text += " " + strings.TrimSpace(l)
		default:
			open = true
			all = append(all, passage{line, strings.TrimSpace(item.ReplaceAllString(l, ""))})
		}
	}
	return all
}

// comments reads those lines of Go and CUDA that are nothing but a comment.
func comments(text string) []passage {
	var all []passage
	open := false
	for line, l := range lines(text) {
		body, is := strings.CutPrefix(strings.TrimSpace(l), "//")
		indented := strings.HasPrefix(body, "  ") || strings.HasPrefix(body, "\t")
		switch body = strings.TrimSpace(body); {
		case !is || body == "" || indented:
			open = false
		case open && !item.MatchString(body):
			all[len(all)-1].text += " " + body
		default:
			open = true
			all = append(all, passage{line, body})
		}
	}
	return all
}

// wide yields lines of a page that are too long. A table's row cannot be wrapped.
func wide(text string) map[int]int {
	found := map[int]int{}
	fenced := false
	for line, l := range lines(text) {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced = !fenced
		}
		columns := utf8.RuneCountInString(l)
		if columns > mostColumns && !fenced && !strings.HasPrefix(l, "|") && !strings.HasPrefix(l, "    ") {
			found[line] = columns
		}
	}
	return found
}

// lines yields lines with their numbers, from 1.
func lines(text string) func(func(int, string) bool) {
	return func(yield func(int, string) bool) {
		scanner := bufio.NewScanner(strings.NewReader(text))
		scanner.Buffer(nil, 1<<20)
		for n := 1; scanner.Scan() && yield(n, scanner.Text()); n++ {
		}
	}
}

func head(s string) string {
	if len(s) > 900 {
		s = strings.ToValidUTF8(s[:900], "") + "..."
	}
	return s
}
