package capture

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
)

const oneCall = `{"schema": "autotune/capture/1", "torch": "2", "whole": true, "calls": [
	{"function": "mm", "device": "cpu", "calls": 2, "ms": 1.5, "tf32": false, "arguments": "4x4", "operator": "matmul",
	 "shape": [1, 4, 4, 4], "parameters": {"bias": [0], "type": ["f32"], "transpose_b": [true]}}]}`

func TestReadRecord(t *testing.T) {
	r, err := readRecord(strings.NewReader(oneCall))
	if err != nil || len(r.Calls) != 1 || *r.Calls[0].TF32 || r.Calls[0].Parameters["transpose_b"][0] != "true" || r.Calls[0].Parameters["bias"][0] != "0" {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, test := range []struct{ old, new, want string }{
		{`[true]}}]}`, "[true]", "the document is cut short"},
		{`"torch"`, `torch`, "not JSON"},
		{"capture/1", "capture/2", `its schema is "autotune/capture/2"; want "autotune/capture/1"`},
		{`"calls": 2`, `"calls": -2`, "call 1: -2 is no number of calls"},
		{`"calls": 2`, `"calls": 2.5`, "calls.calls must be a whole number"},
		{`"calls": 2`, `"calls": 1152921504606846976`, "is no number of calls"},
		{`"ms": 1.5`, `"ms": -1`, "-1 is no time in milliseconds"},
		{`"ms": 1.5`, `"ms": 1e300`, "1e+300 is no time in milliseconds"},
		{`"ms": 1.5`, `"ms": 1e999`, "ms"},
		{`[0]`, `[[0]]`, "string"},
		{`[1, 4, 4, 4]`, `"1x4"`, "calls.shape must be a list"},
		{`"torch": "2"`, `"Torch": "2"`, `the key "Torch" is spelled "torch"`},
		{`"torch": "2"`, `"torch": "2", "torch": "3"`, `the key "torch" stands twice`},
		{`"torch": "2"`, `"compiled": -1`, "-1 is no number of calls"},
		{`[1, 4, 4, 4]`, strings.Repeat("[", 50) + strings.Repeat("]", 50), "8 levels of lists"},
	} {
		_, err := readRecord(strings.NewReader(strings.Replace(oneCall, test.old, test.new, 1)))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", test.new, err, test.want)
		}
	}
}

// Text in a program's own record must not be able to add lines to the terminal's output or to the problems file.
func TestTextOfRecords(t *testing.T) {
	r, err := readRecord(strings.NewReader(strings.Replace(oneCall, `"mm"`, `"a\nb\u001b[2Jc`+strings.Repeat("d", 500)+`"`, 1)))
	if err != nil || strings.ContainsAny(r.Calls[0].Function, "\n\x1b") || len(r.Calls[0].Function) > 300 {
		t.Errorf("%q, %v", r.Calls[0].Function, err)
	}
}

func watcher(t *testing.T) *Watcher {
	t.Helper()
	operators, err := operator.Operators()
	must.OK(t, err)
	w, err := Open("tool", operators)
	must.OK(t, err)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func put(t *testing.T, w *Watcher, name, text string) {
	t.Helper()
	must.OK(t, os.WriteFile(filepath.Join(w.folder.Dir, recordsFolder, name), []byte(text), 0o600))
}

// A record that is not a regular file is an error, and an incomplete record is ignored.
func TestRecordsOfOtherKinds(t *testing.T) {
	w := watcher(t)
	put(t, w, "1.part", "half")
	put(t, w, "1.json", oneCall)
	if s, err := w.Read(); err != nil || s.Processes != 1 {
		t.Error(s, err)
	}
	must.OK(t, os.Symlink("/dev/zero", filepath.Join(w.folder.Dir, recordsFolder, "2.json")))
	if _, err := w.Read(); err == nil || !strings.Contains(err.Error(), "something else in the place of its record") {
		t.Error(err)
	}
}

// With thousands of processes, only the records that exceed the bounds may be lost.
func TestManyProcesses(t *testing.T) {
	w := watcher(t)
	for i := range 4100 {
		put(t, w, fmt.Sprint(i, ".json"), `{"schema": "autotune/capture/1", "calls": [{"function": "f", "device": "cpu", "calls": 2}]}`)
	}
	if s, err := w.Read(); err != nil || s.Processes != 4100 || s.Unserved[0].Calls != 8200 {
		t.Error(s, err)
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add(oneCall)
	f.Add(`{"schema": "autotune/capture/1", "calls": [{"function": "f", "calls": 1, "operator": "conv2d", "shape": [0], "parameters": {"stride": []}}]}`)
	operators, err := operator.Operators()
	must.OK(f, err)
	byName := map[string]*operator.Operator{}
	for _, o := range operators {
		byName[o.Name] = o
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := readRecord(strings.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("not one line: %v", err)
			}
			return
		}
		s := merged([]*record{r}, "", byName)
		if math.IsNaN(s.MS) || len(s.Problems)+len(s.Unserved) > len(r.Calls) {
			t.Errorf("%+v", s)
		}
		check(t, s)
	})
}
