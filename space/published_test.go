package space_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/space"
)

// published reads the spaces in a file of testdata.
func published(t testing.TB, file string) []space.Published {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	must.OK(t, err)
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(r)
	must.OK(t, err)
	spaces, err := space.ParsePublished(data)
	must.OK(t, err)
	return spaces
}

func files(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.json*")
	if err != nil || len(paths) == 0 {
		t.Fatal("no spaces in testdata", err)
	}
	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}
	return paths
}

func TestPublishedCounts(t *testing.T) {
	for _, file := range files(t) {
		t.Run(file, func(t *testing.T) {
			for _, p := range published(t, file) {
				s, err := space.New(t.Context(), p.Part)
				must.OK(t, err)
				if s.Len() != p.Valid {
					t.Errorf("%s: %d valid configurations, want %d", p.Name, s.Len(), p.Valid)
				}
				if s.Cartesian() != p.Cartesian {
					t.Errorf("%s: %v combinations, want %v", p.Name, s.Cartesian(), p.Cartesian)
				}
			}
		})
	}
}

func BenchmarkPublished(b *testing.B) {
	for _, file := range files(b) {
		spaces := published(b, file)
		b.Run(strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".json"), func(b *testing.B) {
			b.ReportAllocs()
			nodes := 0
			for b.Loop() {
				nodes = 0
				for _, p := range spaces {
					s, err := space.New(b.Context(), p.Part)
					must.OK(b, err)
					nodes += s.Nodes()
				}
			}
			b.ReportMetric(float64(nodes), "nodes")
		})
	}
}

func TestParsePublished(t *testing.T) {
	for src, want := range map[string]string{
		``:                         "malformed JSON",
		"{\n\"params\": \n]":       "malformed JSON at line 3",
		`{}`:                       `there is no "params"`,
		`{"params": [1]}`:          `"params" is no object`,
		`{"params": {"a": 3}}`:     "tunable a: its values are no list",
		`{"params": {"a": [[1]]}}`: "tunable a: its values are no list",
		`[{"params": {}}, {}]`:     "space 2: there is no",
		`{"params": {"a": [1]}, "constraints": ["a < 2", "a +"]}`:  `constraint 2: "a +", column 4: expected a number, a name or '(', found the end`,
		"{\"params\": {\"a\": [1]},\n\"constraint\": [\"a < 1\"]}": `line 2, column 1: unknown key "constraint"`,
		`{"params": {"a": [1]}, "constraints": 3}`:                 "malformed JSON at line 1",
	} {
		if _, err := space.ParsePublished([]byte(src)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
}

func FuzzParsePublished(f *testing.F) {
	f.Add([]byte(`{"params": {"a": [1, 2.5, true, "x"]}, "constraints": ["a != 1"], "valid": 3}`))
	f.Add([]byte(`[{"params": {}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		spaces, err := space.ParsePublished(data)
		if err != nil {
			return
		}
		for _, p := range spaces {
			s, err := space.NewWithin(10_000, p.Part)
			if err == nil && s.Len() > 0 {
				if i, ok := s.Index(s.At(s.Len() - 1)); !ok || i != s.Len()-1 {
					t.Fatalf("Index(At(%d)) = %d, %v", s.Len()-1, i, ok)
				}
			}
		}
	})
}
