package quote_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"autotune/internal/python"
	"autotune/internal/quote"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
)

// corpus is text that would end a string, a comment or a line, or that has a special meaning inside one.
var corpus = []string{
	"", " ", "a plain text", `"`, `""`, `"""`, `"""; import os; os._exit(3) #`, `\`, `\\`, `a\`, `\xi`, `\N{BULLET}`, `'''`, "'", "\x00", "a\x00b", "\n", "a\nb", "\r\n", "\t",
	"*/", "**//", "/*", "*", "/", "***///", `*\/`, "// a", "//\\", "??/", "??/\n", "???/", "a??)", "???", "%d %s %n", "{x}", "{", "}", "{{}}", "{__import__('os')}",
	"# x", "coding: utf-7", "-*- coding=latin-1 -*-", "+AGEALA-", "a: b", "- a", "[a, b]", "&a", "*a", "!!python/object", "yes", "~", "1e5", "a #b", "@a", "`a`", "a ",
	"\u202eback", "\u2028", "\u2029", "\u0085", "\x7f", "\x1b[31mred\x1b[0m", "\xff", "\xed\xa0\x80", "日本 µ ×", "\U0001F600", "\u00ad", "\x7fab", "\x011", "\ufeff",
	"#define X", "\"\n#include \"/etc/passwd\"\n", "$(id)", "</script>", strings.Repeat("\\", 9) + `"`,
}

// Python reads each quoted text back unchanged, and no further tokens.
func TestPythonReads(t *testing.T) {
	var literals, docs, formats, want, wantDocs []string
	for _, text := range corpus {
		want = append(want, strings.ToValidUTF8(text, "\uFFFD"))
		wantDocs = append(wantDocs, strings.ReplaceAll(want[len(want)-1], `"`, "'"))
		literals, docs = append(literals, quote.Python(text)), append(docs, quote.PythonDoc(text))
		formats = append(formats, `f"`+quote.PythonFormat(text)+`"`)
	}
	var got struct{ Literals, Docs, Formats, Comments []string }
	comments := make([]string, len(corpus))
	for i, text := range corpus {
		comments[i] = "# " + quote.PythonComment(text) + "\nx = 1\n"
	}
	err := runPython(t, `import ast, json, os
given = json.loads(input())
def comment(text):
    tree = ast.parse(text.encode())
    assert len(tree.body) == 1, text
    return ast.unparse(tree)
def fixed(text):
    tree = ast.parse(text, mode="eval")
    parts = tree.body.values
    assert all(isinstance(p, ast.Constant) for p in parts), text
    return "".join(p.value for p in parts)
os.fdopen(3, "w").write(json.dumps({"literals": [ast.literal_eval(t) for t in given[0]], "docs": [ast.literal_eval(t) for t in given[1]],
    "formats": [fixed(t) for t in given[2]], "comments": [comment(t) for t in given[3]]}) + "\n")
`, [][]string{literals, docs, formats, comments}, &got)
	must.OK(t, err)
	for i := range corpus {
		if got.Literals[i] != want[i] || got.Formats[i] != want[i] || got.Docs[i] != wantDocs[i] || got.Comments[i] != "x = 1" {
			t.Errorf("%q: %q, %q, %q, %q", corpus[i], got.Literals[i], got.Formats[i], got.Docs[i], got.Comments[i])
		}
	}
}

// runPython runs code that reads a line of JSON from standard input and prints another line.
func runPython(t *testing.T, code string, given, into any) error {
	t.Helper()
	testneeds.Python.Need(t)
	text, err := json.Marshal(given)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	program := python.Program{Code: code, Dir: t.TempDir(), Limit: time.Minute}
	return program.Run(ctx, json.RawMessage(text), into)
}

// C and C++ compilers read each quoted text back unchanged, with and without trigraphs.
func TestCompilersRead(t *testing.T) {
	testneeds.CXX.Need(t)
	var b strings.Builder
	b.WriteString("#include <stdio.h>\n#include <string.h>\nint main(void) {\n    int bad = 0;\n")
	for i, text := range corpus {
		bytes := strconv.Itoa(len(text))
		b.WriteString("    { /* " + quote.CComment(text) + " */ // " + quote.CLine(text) + "\n        static const unsigned char want[] = {")
		for _, c := range []byte(text) {
			b.WriteString(strconv.Itoa(int(c)) + ",")
		}
		b.WriteString("0};\n        const char* got = " + quote.C(text) + ";\n        if (sizeof " + quote.C(text) + " != " + bytes + " + 1 || memcmp(got, want, " + bytes + ")) bad++, printf(\"" + strconv.Itoa(i) + "\\n\");\n")
		if !strings.ContainsRune(text, 0) {
		}
		b.WriteString("    }\n")
	}
	b.WriteString("    return bad;\n}\n")
	dir := t.TempDir()
	source := filepath.Join(dir, "x.c")
	must.OK(t, os.WriteFile(source, []byte(b.String()), 0o600))
	for _, flags := range [][]string{{"-x", "c++", "-std=c++20"}, {"-x", "c++", "-std=c++11", "-trigraphs"}, {"-x", "c++", "-std=gnu++17"}} {
		program := filepath.Join(dir, "x")
		arguments := append(flags, "-Wall", "-Werror", "-Wno-format-extra-args", "-Wno-format-zero-length", "-Wno-format-security", "-Wno-trigraphs", "-Wno-unused", "-o", program, source)
		if said, err := exec.Command("g++", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%.2000s", flags, err, said)
		}
		if said, err := exec.Command(program).CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", flags, err, said)
		}
	}
}

func TestKeepsPlainText(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{quote.C("NVIDIA H200"), `"NVIDIA H200"`}, {quote.C("41 µs"), `"41 µs"`}, {quote.C("a\nb\t"), `"a\nb\t"`}, {quote.Python("relu(x)"), `"relu(x)"`},
		{quote.PythonDoc(`the "same" padding`), `"""the 'same' padding"""`}, {quote.CComment("a / b * c"), "a / b * c"}, {quote.PythonComment("Tuned on a"), "Tuned on a"},
		{quote.YAML("3x5"), "3x5"}, {quote.YAML("-1"), "-1"}, {quote.YAML("a, b"), `"a, b"`}, {quote.YAML("a: b"), `"a: b"`}, {quote.YAMLString("n*4"), `"n*4"`},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string][2]bool{"conv2d": {true, true}, "_": {true, true}, "lambda": {true, false}, "None": {true, false}, "": {}, "2d": {}, "a b": {}, "é": {}, "a\n": {}, "a-b": {}} {
		if quote.IsName(name) != want[0] || quote.IsPythonName(name) != want[1] {
			t.Errorf("%q: %t, %t", name, quote.IsName(name), quote.IsPythonName(name))
		}
	}
}

// lexed reads a double-quoted string literal by the rules that quote.Python and quote.C share. lexed returns the bytes
// and the rest of the text.
func lexed(t *testing.T, literal string) (text, rest string) {
	t.Helper()
	if literal == "" || literal[0] != '"' {
		t.Fatalf("%q does not begin a string", literal)
	}
	var b []byte
	for i := 1; i < len(literal); i++ {
		switch c := literal[i]; c {
		case '"':
			return string(b), literal[i+1:]
		case '\n', '\r', 0:
			t.Fatalf("%q has a raw byte %d", literal, c)
		case '\\':
			i++
			size, base := map[byte]int{'x': 2, 'u': 4, 'U': 8}[literal[i]], 16
			digits := i + 1
			if literal[i] >= '0' && literal[i] <= '7' {
				size, base, digits = 3, 8, i
			}
			if size == 0 {
				at := strings.IndexByte(`abfnrtv\"'?`, literal[i])
				if at < 0 {
					t.Fatalf("%q has the escape %c", literal, literal[i])
				}
				b = append(b, "\a\b\f\n\r\t\v\\\"'?"[at])
				continue
			}
			n, err := strconv.ParseUint(literal[digits:digits+size], base, 32)
			if err != nil {
				t.Fatalf("%q: %v", literal, err)
			}
			if base == 8 {
				b = append(b, byte(n))
			} else {
				b = utf8.AppendRune(b, rune(n))
			}
			i = digits + size - 1
		default:
			b = append(b, c)
		}
	}
	t.Fatalf("%q does not end", literal)
	return "", ""
}

// isOneLine fails the test if text contains a character that would end a line, hide text or move the cursor.
func isOneLine(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
	}) {
		t.Errorf("not one line: %q", text)
	}
}

func fuzz(f *testing.F, check func(t *testing.T, text string)) {
	for _, text := range corpus {
		f.Add(text)
	}
	f.Fuzz(check)
}

func FuzzPython(f *testing.F) {
	fuzz(f, func(t *testing.T, text string) {
		literal, want := quote.Python(text), strings.ToValidUTF8(text, "\uFFFD")
		isOneLine(t, literal)
		if got, rest := lexed(t, literal); got != want || rest != "" {
			t.Errorf("%s is %q and %q", literal, got, rest)
		}
		if !strings.HasPrefix(literal, `"`) || strings.HasPrefix(literal[1:], `""`) {
			t.Errorf("%s may be read as the beginning of three quotes", literal)
		}
	})
}

func FuzzPythonDoc(f *testing.F) {
	fuzz(f, func(t *testing.T, text string) {
		doc := quote.PythonDoc(text)
		isOneLine(t, doc)
		inside, begins := strings.CutPrefix(doc, `"""`)
		inside, ends := strings.CutSuffix(inside, `"""`)
		if !begins || !ends || strings.Contains(inside, `"`) {
			t.Fatalf("%s", doc)
		}
		if got, rest := lexed(t, `"`+inside+`"`); got != strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), `"`, "'") || rest != "" {
			t.Errorf("%s is %q and %q", doc, got, rest)
		}
	})
}

func FuzzPythonFormat(f *testing.F) {
	fuzz(f, func(t *testing.T, text string) {
		got, rest := lexed(t, `"`+quote.PythonFormat(text)+`"`)
		if plain := strings.NewReplacer("{{", "", "}}", "").Replace(got); strings.ContainsAny(plain, "{}") || rest != "" {
			t.Errorf("%q has a field", got)
		}
		if strings.NewReplacer("{{", "{", "}}", "}").Replace(got) != strings.ToValidUTF8(text, "\uFFFD") {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func FuzzPythonComment(f *testing.F) {
	fuzz(f, func(t *testing.T, text string) {
		comment := quote.PythonComment(text)
		isOneLine(t, comment)
		if strings.Contains(comment, "coding:") || strings.Contains(comment, "coding=") {
			t.Errorf("%q names an encoding", comment)
		}
	})
}

func FuzzC(f *testing.F) {
	fuzz(f, func(t *testing.T, text string) {
		literal := quote.C(text)
		isOneLine(t, literal)
		if got, rest := lexed(t, literal); got != text || rest != "" || strings.Contains(literal, "??") {
			t.Errorf("%s is %q and %q", literal, got, rest)
		}
	})
}

func FuzzCComment(f *testing.F) {
	fuzz(f, func(t *testing.T, text string) {
		comment, line := quote.CComment(text), quote.CLine(text)
		isOneLine(t, comment)
		isOneLine(t, line)
		if whole := "/* " + comment + " */"; strings.Index(whole, "*/") != len(whole)-2 || strings.Contains(comment, "/*") {
			t.Errorf("%s ends early", whole)
		}
		if strings.ContainsRune(line, '\\') || strings.Contains(line, "??/") {
			t.Errorf("%s goes on in the next line", line)
		}
	})
}

func FuzzYAML(f *testing.F) {
	fuzz(f, func(t *testing.T, text string) {
		var got map[string]any
		document := "{a: " + quote.YAML(text) + ", b: " + quote.YAMLString(text) + ", c: 1} # " + quote.YAMLComment(text) + "\n"
		err := yaml.Unmarshal([]byte(document), &got)
		if err != nil || len(got) != 3 {
			t.Fatalf("%q: %v, %v", document, got, err)
		}
		want := strings.ToValidUTF8(text, "\uFFFD")
		if plain := quote.YAML(text); plain[0] == '"' && got["a"] != want || got["b"] != want || plain[0] != '"' && plain != want {
			t.Errorf("%q is %q and %q", document, got["a"], got["b"])
		}
	})
}
