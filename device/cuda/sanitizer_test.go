package cuda

import (
	"embed"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"

	"pgregory.net/rapid"

	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/testoperators"
)

//go:embed testdata/sanitizer
var testdata embed.FS

func TestReadReport(t *testing.T) {
	for _, test := range []struct {
		file     string
		findings []string
		complete bool
	}{
		{"memcheck", []string{
			"Invalid __global__ read of size 4 bytes at direct.cu:27 by thread (255,0,0) in block (3,0,0)",
			"Invalid __global__ read of size 4 bytes at direct.cu:27 by thread (254,0,0) in block (3,0,0)"}, true},
		{"memcheck_inlined", []string{"Misaligned Shared or Local Address at tiles/my tile.cuh:12 by thread (0,0,0) in block (0,0,0)"}, true},
		{"racecheck", []string{"Race reported between Write access at direct.cu:28 and Read access at direct.cu:30 [508 hazards]"}, true},
		{"initcheck", []string{"Uninitialized __global__ memory read of size 4 bytes at direct.cu:31 by thread (0,0,0) in block (0,0,0)"}, true},
		{"synccheck", []string{"Barrier error detected. Divergent thread(s) in block at direct.cu:33 by thread (32,0,0) in block (0,0,0)"}, true},
		{"clean", nil, true},
		{"clean_race", nil, true},
		{"unknown", []string{"3 errors reported; Something that next year's version reports"}, true},
		{"unattached", nil, false},
	} {
		text, err := testdata.ReadFile("testdata/sanitizer/" + test.file + ".log")
		must.OK(t, err)
		r := readReport(string(text))
		if !slices.Equal(r.findings, test.findings) || r.complete != test.complete {
			t.Errorf("%s: complete %v, findings\n%s\nwant\n%s", test.file, r.complete, strings.Join(r.findings, "\n"), strings.Join(test.findings, "\n"))
		}
	}
}

// Whatever text a report holds, each finding becomes a single line, and a report that is cut off is never complete.
func TestReadAnyReport(t *testing.T) {
	files, err := testdata.ReadDir("testdata/sanitizer")
	must.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		text, err := testdata.ReadFile("testdata/sanitizer/" + rapid.SampledFrom(files).Draw(t, "file").Name())
		must.OK(t, err)
		r := readReport(string(text[:rapid.IntRange(0, len(text)).Draw(t, "cut")]) + rapid.String().Draw(t, "more"))
		for _, finding := range r.findings {
			if strings.Contains(finding, "\n") {
				t.Errorf("%q", finding)
			}
		}
		if len(r.findings) == 0 && r.complete && strings.Contains(string(text), "Invalid") && strings.Contains(string(text), "2 errors") {
			t.Errorf("a complete report of errors without a finding")
		}
	})
}

// fakeSanitizer puts a program on the PATH that runs a worker as compute-sanitizer does, and then writes the report
// that the test has chosen for the tool.
func fakeSanitizer(t *testing.T, reports map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for tool, report := range reports {
		text, err := testdata.ReadFile("testdata/sanitizer/" + report + ".log")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, tool), text, 0o644)
		}
		must.OK(t, err)
	}
	const script = `#!/bin/sh
tool=$2 log=$6
[ "$1$3$4$5" = --tool--report-api-errorsno--log-file ] || { echo "wrong flags: $*" >&2; exit 2; }
shift 6
[ "$tool$1" = memcheck--padding ] && shift 2
"$@"
cp "$REPORTS/$tool" "$log"
`
	must.OK(t, os.WriteFile(filepath.Join(dir, sanitizerProgram), []byte(script), 0o755))
	t.Setenv("REPORTS", dir)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// A tool's finding becomes the variant's status, and the tools after it do not run.
func TestSanitize(t *testing.T) {
	clean := map[string]string{"memcheck": "clean", "racecheck": "clean_race", "initcheck": "clean", "synccheck": "clean"}
	with := func(tool, report string) map[string]string {
		reports := map[string]string{tool: report}
		for _, before := range sanitizerTools {
			if before.name == tool {
				break
			}
			reports[before.name] = clean[before.name]
		}
		return reports
	}
	for _, test := range []struct {
		name    string
		act     string
		reports map[string]string
		status  trial.Status
		message string
	}{
		{"nothing found", "right", clean, trial.OK, ""},
		{"an access out of bounds", "right", with("memcheck", "memcheck"), trial.Crashed, "memcheck: Invalid __global__ read of size 4 bytes at direct.cu:27 by thread (255,0,0) in block (3,0,0)"},
		{"a race", "right", with("racecheck", "racecheck"), trial.WrongResult, "racecheck: Race reported between Write access at direct.cu:28 and"},
		{"an uninitialised read", "right", with("initcheck", "initcheck"), trial.WrongResult, "initcheck: Uninitialized __global__ memory read"},
		{"a divergent barrier", "right", with("synccheck", "synccheck"), trial.Crashed, "synccheck: Barrier error detected. Divergent thread(s) in block"},
		{"a fault has its place", "faults", with("memcheck", "memcheck"), trial.Crashed, "memcheck: Invalid __global__ read"},
		{"a fault that no tool sees", "faults", clean, trial.Crashed, "an illegal memory access"},
		{"it ends otherwise under a tool", "slow_under_tools", clean, trial.Timeout, "memcheck: it was not done in time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeSanitizer(t, test.reports)
			o, err := evaluateSanitized(t, test.act)
			if err != nil || o.Status != test.status || !strings.HasPrefix(o.Message, test.message) {
				t.Errorf("%s %q, %v; want %s %q", o.Status, o.Message, err, test.status, test.message)
			}
		})
	}
}

func evaluateSanitized(t *testing.T, act string) (trial.Outcome, error) {
	t.Helper()
	path, err := FindSanitizer()
	must.OK(t, err)
	g := openFake(t)
	s, err := (&sanitized{g, path}).Open(t.Context(), testoperators.Problem(t, "affine", 1024, g.Info().Limits), &compile.Binary{}, testoperators.Protocol())
	must.OK(t, err)
	v := testoperators.Variant(t, testoperators.Problem(t, "affine", 1024, g.Info().Limits), int64(slices.Index(acts, act)))
	v.Binary = &compile.Binary{}
	return s.Evaluate(t.Context(), v, 0)
}

// A tool that ends without a verdict proves nothing about the variant, so Evaluate returns an error that says why.
func TestSanitizerWithoutVerdict(t *testing.T) {
	for _, test := range []struct {
		name, act string
		reports   map[string]string
		want      string
	}{
		{"it cannot attach", "right", map[string]string{"memcheck": "unattached"}, "memcheck gave no verdict: Error: No attachable process found"},
		{"it writes nothing", "right", nil, "memcheck gave no verdict: "},
		{"its worker dies", "dies_under_tools", map[string]string{"memcheck": "unattached"}, "memcheck gave no verdict: worker fake-cuda died"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fakeSanitizer(t, test.reports)
			if o, err := evaluateSanitized(t, test.act); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, %v; want %q", o, err, test.want)
			}
		})
	}
}

func TestNoSanitizer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CUDA_HOME", "")
	if path, err := FindSanitizer(); err == nil {
		t.Skip("found", path)
	} else if !errors.Is(err, ErrNoSanitizer) || !strings.Contains(err.Error(), "install cuda-sanitizer") {
		t.Error(err)
	}
	if _, err := Open(t.Context(), 0, Options{Sanitize: true}); !errors.Is(err, ErrNoSanitizer) {
		t.Error(err)
	}
	home := t.TempDir()
	path := filepath.Join(home, "bin", sanitizerProgram)
	must.OK(t, errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755)))
	t.Setenv("CUDA_HOME", home)
	if found, err := FindSanitizer(); err != nil || found != path {
		t.Errorf("found %s, %v", found, err)
	}
}
