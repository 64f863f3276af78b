package simulate

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/device/recording"
	"autotune/internal/test/must"
)

const smallCache = `{"device_name": "A GPU", "kernel_name": "sum", "tune_params_keys": ["x", "fast", "way"],
"tune_params": {"x": [1, 2, 0.5], "fast": [true, false], "way": ["row", "a,b"]}, "cache": {
"1,True,row": {"x": 1, "fast": true, "way": "row", "time": 2.5, "compile_time": 100, "verification_time": 0, "benchmark_time": 20.5},
"2,False,a,b": {"x": 2, "fast": false, "way": "a,b", "time": 1.5, "compile_time": 10, "verification_time": null, "benchmark_time": 5},
"0.5,True,row": {"x": 0.5, "fast": true, "way": "row", "time": "RuntimeFailedConfig", "compile_time": 7, "GFLOP/s": NaN},
"0.5,False,row": {"x": 0.5, "fast": false, "way": "row", "time": 3, "__error__": "CompilationFailedConfig", "compile_time": 8}`

const smallT4 = `{"metadata": {"timeunit": "milliseconds"}, "schema_version": "1.0.0", "results": [
{"configuration": {"b": 8, "a": "x"}, "times": {"compilation": 10, "validation": 1, "runtimes": [2, 3]}, "invalidity": "correct",
 "measurements": [{"name": "power", "value": 9}, {"name": "time", "value": 2.5}], "objectives": ["time"]},
{"configuration": {"b": 4, "a": "x"}, "times": {"compilation": 20, "validation": 0}, "invalidity": "compile",
 "measurements": [{"name": "time", "value": "CompilationFailedConfig"}], "objectives": ["time"]},
{"configuration": {"b": 4, "a": "y"}, "times": {"compilation": 5, "runtimes": [1]}, "invalidity": "correct",
 "measurements": [{"name": "time", "value": 1}], "objectives": ["time"]}`

func zipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.NoCompression) // uncompressed, so that a cut loses exactly the data after it
	must.OK(t, err)
	_, err = w.Write([]byte(s))
	must.OK(t, err)
	must.OK(t, w.Close())
	return b.String()
}

// read returns the recording from a reader of its file.
func read(r io.Reader) (*Recording, error) {
	recorded, err := recording.ReadAny(r)
	if err != nil {
		return nil, err
	}
	return newRecording(recorded)
}

// rowsOf returns the recording's rows by the keys of their configurations.
func rowsOf(r *Recording) map[string]Row {
	rows := map[string]Row{}
	for id, row := range r.Rows {
		rows[r.Space.At(int64(id)).Key()] = row
	}
	return rows
}

func TestRead(t *testing.T) {
	cache := map[string]Row{
		"x=1|fast=true|way=row":    {true, 2.5, 120.5},
		"x=2|fast=false|way=a,b":   {true, 1.5, 15},
		"x=0.5|fast=true|way=row":  {false, 0, 7},
		"x=0.5|fast=false|way=row": {false, 0, 8},
	}
	results := map[string]Row{
		"a=x|b=8": {true, 2.5, 16},
		"a=x|b=4": {false, 0, 20},
		"a=y|b=4": {true, 1, 6},
	}
	for name, c := range map[string]struct {
		data string
		want map[string]Row
	}{
		"cache":      {smallCache + "}}", cache},
		"compressed": {zipped(t, smallCache+"}}"), cache},
		"T4":         {smallT4 + "]}", results},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := read(strings.NewReader(c.data))
			must.OK(t, err)
			got := rowsOf(r)
			if len(got) != len(c.want) {
				t.Errorf("%d rows, want %d", len(got), len(c.want))
			}
			for key, want := range c.want {
				if got[key] != want {
					t.Errorf("%s: %+v, want %+v", key, got[key], want)
				}
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	for data, want := range map[string]string{
		"":                   "does not begin with a JSON object",
		smallCache:           "the document is cut short",
		"[1]":                "the document must be an object",
		`{"params": {}}`:     "neither a Kernel Tuner cache",
		"\x1f\x8bnonsense":   "gzip",
		`{"cache": [1]}`:     "cache: must be an object",
		`{"results": 3}`:     "results must be a list",
		`{"cache": {}}`:      `"tune_params_keys" is missing`,
		"{\"results\": [\n}": "line 2",
		`{"tune_params_keys": ["x"], "cache": {}}`:                                                              "the values of x",
		`{"tune_params_keys": ["x"], "tune_params": {"x": [1]}, "cache": {"2": {"x": 2, "time": 1}}}`:           `tunable x has the value 2`,
		`{"tune_params_keys": ["x"], "tune_params": {"x": [1]}, "cache": {"1": {"x": 1, "time": 1}}}`:           "fewer than two",
		`{"results": [{"configuration": {"x": 1}}, {"configuration": {"y": 1}}]}`:                               "results[1]: tunable x",
		`{"tune_params_keys": ["x"], "tune_params": {"x": [1]}, "cache": {"1": {"x": 1, "compile_time": "a"}}}`: `configuration "1"`,
	} {
		if _, err := read(strings.NewReader(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", data, err, want)
		}
	}
}

// A recording made by autotune has several templates, and says how long measuring took.
func TestLoadOwnRecording(t *testing.T) {
	r, err := Load(t.Context(), filepath.Join("..", "..", "device", "recording", "testdata", "recording.json"))
	must.OK(t, err)
	if r.Name != "recording" || r.Metadata.Problem.Operator != "max_pool2d" || r.Metadata.Device.Name != "NVIDIA H100 80GB HBM3" || len(r.Space.Parts()) != 2 {
		t.Errorf("%+v", r)
	}
	if row := rowsOf(r)["direct|block_x=32|vec=1"]; !row.OK || row.Value != 1.25 || !near(row.CostMS, 123.456+2.5+41.5) {
		t.Errorf("row %+v of %+v", row, rowsOf(r))
	}
}

func TestLoadErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	must.OK(t, os.WriteFile(path, []byte("{}"), 0o644))
	for _, p := range []string{path, path + ".gz"} {
		if _, err := Load(t.Context(), p); err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("error %v, want %s in it", err, p)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{smallCache + "}}", smallCache + ",", smallT4 + "]}", smallT4, `{"cache": {"a": NaN}}`, "\x1f\x8b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := read(bytes.NewReader(data))
		if err == nil && (int64(len(r.Rows)) != r.Space.Len() || len(r.Valid()) < 2) {
			t.Errorf("%d rows of %d configurations, %d valid", len(r.Rows), r.Space.Len(), len(r.Valid()))
		}
	})
}
