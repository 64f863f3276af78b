package bestconfig

import (
	"bytes"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner"
	"autotune/tuner/torchtimes"
)

// fixture reads a document from testdata: "cuda" is a search on a GPU with all fields known, "replay" the same search
// answered from a recording, and "emulator" a small search on the CPU without a roofline and PyTorch.
func fixture(t testing.TB, name string) Document {
	t.Helper()
	text := must.Read(t, filepath.Join("testdata", name+".json"))
	d, err := Read(bytes.NewReader(text))
	must.OK(t, err)
	return d
}

func written(t testing.TB, d Document) []byte {
	t.Helper()
	var out bytes.Buffer
	must.OK(t, d.WriteJSON(&out))
	return out.Bytes()
}

// A document that is read and written again does not change by a byte.
func TestGoldenDocuments(t *testing.T) {
	for _, name := range []string{"cuda", "replay", "emulator"} {
		want := must.Read(t, filepath.Join("testdata", name+".json"))
		if got := written(t, fixture(t, name)); !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	plain := fixture(t, "cuda")
	positive := rapid.Float64Range(1e-6, 1e6)
	value := rapid.OneOf(
		rapid.Map(rapid.Int64(), expr.Int),
		rapid.Map(rapid.Bool(), expr.Bool),
		rapid.Map(rapid.String(), expr.String),
		rapid.SampledFrom([]expr.Value{expr.Float(0.125), expr.Float(1)}),
	)
	rapid.Check(t, func(t *rapid.T) {
		b := plain
		b.Values = nil
		for name, v := range rapid.MapOf(rapid.StringMatching(`[a-z_]{1,8}`), value).Draw(t, "configuration") {
			b.Values = append(b.Values, space.Value{Name: name, Value: v})
		}
		b.Time.Median = positive.Draw(t, "median")
		b.Baselines = nil
		b.Compare(torchtimes.Eager, positive.Draw(t, "eager"))
		b.SetRoofline(rapid.Int64Range(0, 1<<50).Draw(t, "bytes"), 0, positive.Draw(t, "bandwidth"))
		b.Warnings = rapid.SliceOf(rapid.String()).Draw(t, "warnings")
		b.RecordedAt = time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "at"), 0)
		var out bytes.Buffer
		must.OK(t, b.WriteJSON(&out))
		read, err := Read(&out)
		must.OK(t, err)
		if !reflect.DeepEqual(read, b.complete()) {
			t.Fatalf("read back %+v\nwant %+v", read, b.complete())
		}
	})
}

func TestReadErrors(t *testing.T) {
	plain := string(written(t, fixture(t, "cuda")))
	with := func(old, new string) string {
		if !strings.Contains(plain, old) {
			t.Fatalf("the document has no %s", old)
		}
		return strings.Replace(plain, old, new, 1)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", " \n", "the document is empty"},
		{"text", "hello", "line 1, column 1: not JSON"},
		{"array", "[]", "line 1, column 1: the document must be an object, not a list"},
		{"cut", plain[:len(plain)/2], "the document is cut short"},
		{"trailing", plain + "{}", "not JSON"},
		{"no schema", `{"operator":"conv2d"}`, "it has no schema"},
		{"schema", with("best-config/1", "best-config/2"), `its schema is "autotune/best-config/2"; this version reads "autotune/best-config/1"`},
		{"unknown field", with(`"operator"`, `"oprator"`), `unknown key "oprator"`},
		{"type", with(`"median": 6.27`, `"median": "6.27"`), "time_ms.median must be a number, not a string"},
		{"operator", with(`"operator": "conv2d"`, `"operator": ""`), "operator is missing"},
		{"shape", with("      16,\n", "      -16,\n"), "problem.shape holds -16"},
		{"kind", with(`"kind": "cuda"`, `"kind": "gpu"`), `device.kind is "gpu"`},
		{"replay", with(`"kind": "cuda"`, `"kind": "replay"`), "recording must be there for a replay"},
		{"template", with(`"template": "direct"`, `"template": ""`), "template is missing"},
		{"launch", with(`"entry": "conv2d_direct"`, `"entry": ""`), "launch.entry is missing"},
		{"value", with(`"tile": 4`, `"tile": [4]`), "configuration.tile: a value is"},
		{"median", with(`"median": 6.27`, `"median": 0`), "time_ms.median is 0"},
		{"interval", with("6.265", "6.3"), "time_ms.ci95 is [6.3, 6.281]"},
		{"baseline", with(`"torch_eager"`, `"Torch eager"`), `baselines: "Torch eager" is no name`},
		{"baseline time", with(`"time_ms": 7.1,`, `"time_ms": -7.1,`), "baselines.torch_eager: time_ms and speedup are -7.1"},
		{"share", with(`"max_abs_error": 0.00000143`, `"max_abs_error": -1`), "max_abs_error is -1"},
		{"status", with(`"pruned": 10`, `"skipped": 10`), "trials.by_status.skipped is 10, want 0 or more of one of [ok compile_error"},
		{"total", with(`"total": 412`, `"total": 413`), "trials.total is 413, but by_status adds up to 412"},
		{"time", with(`"recorded_at": "2025`, `"recorded_at": "20x5`), "cannot parse"},
		{"target", with(`"sm_90a"`, `"sm_90a -o x"`), `target is "sm_90a -o x", want an architecture as sm_90a`},
		{"outlook", with(`"evaluations": 400`, `"outlook": {"target": 1.02, "chance": 1.5}, "evaluations": 400`), "search.outlook is {Target:1.02 Chance:1.5 AtFloor:false Seconds:0}, want a target above 1 and a chance from 0 to 1"},
		{"digest", with(`"kernel_digest": "0123`, `"kernel_digest": "gggg`), "kernel_digest is \"gggg"},
		{"short digest", with(`fedcba98765432`, `..`), "reference_digest is \"..10"},
		{"another case", with(`"operator":`, `"Operator":`), `the key "Operator" is spelled "operator"`},
		{"twice", with(`"operator":`, `"operator": "other", "operator":`), `the key "operator" stands twice`},
		{"a field in another case", with(`"median":`, `"Median":`), `the key "Median" is spelled "median"`},
		{"large", strings.Repeat(" ", documentBound.Bytes+1), "4 MiB at most"},
		{"deep", strings.Repeat("[", 100_000), "32 levels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v\nwant ...%s...", err, c.want)
			}
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	lost := fixture(t, "cuda")
	lost.Template = ""
	if err := lost.WriteJSON(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no valid variant") {
		t.Errorf("a search without a winner: %v", err)
	}
	b := fixture(t, "cuda")
	b.MaxAbsError = math.NaN()
	if err := b.WriteJSON(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "max_abs_error is NaN") {
		t.Errorf("NaN: %v", err)
	}
}

func TestUnknownIsLeftOut(t *testing.T) {
	b := fixture(t, "cuda")
	b.Baselines = nil
	b.Compare(Default, 0)
	b.SetRoofline(100, 200, 0)
	if b.Baselines != nil || b.Roofline.Share != 0 || b.CopyBandwidthShare != 0 || b.Roofline.Bytes != 100 {
		t.Errorf("got %+v, %+v", b.Baselines, b.Roofline)
	}
	none := Document{Trials: tuner.Counts{ByStatus: map[trial.Status]int{}}}
	none.Compare(Default, 3)
	if none.Baselines != nil {
		t.Error("a baseline was compared with no winner")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, fixture(f, "cuda")))
	f.Add(written(f, fixture(f, "replay")))
	f.Add([]byte(`{"schema":"autotune/best-config/1","warnings":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(written(t, b)))
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		if !reflect.DeepEqual(again, b) {
			t.Fatalf("%+v became %+v", b, again)
		}
	})
}
