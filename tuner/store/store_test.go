package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
)

var pool = ProblemID{Problem: "max_pool2d 1x2x20x20 kernel=4x4", Device: "NVIDIA H100", Kind: device.CUDA}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Wait: -1})
	must.OK(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newPath(t *testing.T) string { return filepath.Join(t.TempDir(), "new", "cache.db") }

func sample(i int) Entry {
	return Entry{
		Provenance: Provenance{
			KernelDigest: fmt.Sprint("kernel ", i), ReferenceDigest: "reference", Arch: "sm_90",
			Compiler: "NVRTC 13.0", Driver: "580.1", Device: "NVIDIA H100", Protocol: device.DefaultProtocol(),
		},
		Trial: trial.Trial{
			Configuration: space.Configuration{Template: "direct", Values: space.Values{
				{Name: "block_x", Value: expr.Int(32)}, {Name: "half", Value: expr.Float(0.5)}, {Name: "whole", Value: expr.Float(1)},
				{Name: "fast", Value: expr.Bool(true)}, {Name: "layout", Value: expr.String("rows")},
			}},
			Outcome: trial.Outcome{Status: trial.OK, Time: trial.Timing{Median: float64(i) + 0.25, Samples: 30}},
			At:      time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
	}
}

func fill(t *testing.T, s *Store, id ProblemID, n int) {
	t.Helper()
	var entries []Entry
	for i := range n {
		entries = append(entries, sample(i))
	}
	must.OK(t, s.PutTrials(id, entries))
}

// bucketOf returns the bucket of a problem that is in the store.
func bucketOf(tx *bbolt.Tx, id ProblemID) *bbolt.Bucket {
	key, _ := id.key()
	return tx.Bucket(problemsBucket).Bucket(key)
}

func mustTrials(t *testing.T, s *Store, id ProblemID) map[string]trial.Trial {
	t.Helper()
	entries, err := s.Entries(id)
	must.OK(t, err)
	found := map[string]trial.Trial{}
	for _, e := range entries {
		found[e.Provenance.Key()] = e.Trial
	}
	return found
}

func mustBeSound(t *testing.T, s *Store) {
	t.Helper()
	issues, err := s.Check(t.Context())
	if err != nil || len(issues) > 0 {
		t.Fatalf("check: %v, %v", issues, err)
	}
}

func TestTrialsComeBack(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	if got := mustTrials(t, s, pool); len(got) != 0 {
		t.Errorf("a new store holds %v", got)
	}
	fill(t, s, pool, 3)
	must.OK(t, s.Close())
	s = open(t, path)
	got := mustTrials(t, s, pool)
	if len(got) != 3 {
		t.Fatalf("got %d trials, want 3", len(got))
	}
	for i := range 3 {
		want := sample(i)
		if !reflect.DeepEqual(got[want.Provenance.Key()], want.Trial) {
			t.Errorf("got %+v, want %+v", got[want.Provenance.Key()], want.Trial)
		}
	}
	mustBeSound(t, s)
}

func TestTrialsOfOtherProblemsStayApart(t *testing.T) {
	s := open(t, newPath(t))
	other, emulated := pool, pool
	other.Device = "NVIDIA A100"
	emulated.Kind = device.Emulator
	fill(t, s, pool, 2)
	fill(t, s, other, 1)
	for id, want := range map[ProblemID]int{pool: 2, other: 1, emulated: 0} {
		if got := mustTrials(t, s, id); len(got) != want {
			t.Errorf("%v: %d trials, want %d", id, len(got), want)
		}
	}
}

func TestTrialWithUnboundedError(t *testing.T) {
	s := open(t, newPath(t))
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		e := sample(1)
		e.Trial.Status, e.Trial.MaxAbsError = trial.WrongResult, bad
		must.OK(t, s.PutTrials(pool, []Entry{e}))
		if got := mustTrials(t, s, pool)[e.Provenance.Key()].MaxAbsError; got != math.MaxFloat64 {
			t.Errorf("%v came back as %v", bad, got)
		}
	}
}

func TestKeyDependsOnEverything(t *testing.T) {
	seen := map[string]string{sample(0).Provenance.Key(): "the same"}
	changes := map[string]func(p *Provenance){
		"kernel":    func(p *Provenance) { p.KernelDigest = "edited" },
		"reference": func(p *Provenance) { p.ReferenceDigest = "edited" },
		"arch":      func(p *Provenance) { p.Arch = "sm_80" },
		"compiler":  func(p *Provenance) { p.Compiler = "NVRTC 12.8" },
		"driver":    func(p *Provenance) { p.Driver = "590" },
		"device":    func(p *Provenance) { p.Device = "NVIDIA A100" },
		"protocol":  func(p *Provenance) { p.Protocol.Samples++ },
		"seed":      func(p *Provenance) { p.Protocol.Seed++ },
	}
	for name, change := range changes {
		p := sample(0).Provenance
		change(&p)
		if other, ok := seen[p.Key()]; ok {
			t.Errorf("a change of %s gives the key of %s", name, other)
		}
		seen[p.Key()] = name
	}
}

func TestWinners(t *testing.T) {
	s := open(t, newPath(t))
	if _, ok, err := s.Winner(pool); ok || err != nil {
		t.Errorf("a new store has a winner: %v, %v", ok, err)
	}
	large, conv := pool, pool
	large.Problem = "max_pool2d 32x64x512x512 kernel=4x4"
	conv.Problem = "conv2d 1x1x8x8"
	for i, id := range []ProblemID{pool, large, conv} {
		w := Winner{
			TimeMS: float64(i + 1), Result: json.RawMessage(`{"schema":1}`), Provenance: sample(i).Provenance,
		}
		must.OK(t, s.PutWinner(id, w))
		got, ok, err := s.Winner(id)
		w.Problem = id
		if !ok || err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("got %+v, %v, %v; want %+v", got, ok, err, w)
		}
	}
	for _, tt := range []struct {
		operator, device string
		want             int
	}{{"max_pool2d", "", 2}, {"max_pool2d", "NVIDIA H100", 2}, {"max_pool2d", "NVIDIA A100", 0}, {"conv2d", "", 1}, {"conv", "", 0}} {
		got, err := s.Winners(tt.operator, tt.device)
		if err != nil || len(got) != tt.want {
			t.Errorf("%s on %q: %d winners, %v; want %d", tt.operator, tt.device, len(got), err, tt.want)
		}
	}
	mustBeSound(t, s)
}

func TestProblemsAndRemove(t *testing.T) {
	s := open(t, newPath(t))
	conv := ProblemID{Problem: "conv2d 1x1x8x8", Device: "NVIDIA H100", Kind: device.CUDA}
	fill(t, s, pool, 5)
	fill(t, s, conv, 2)
	must.OK(t, s.PutWinner(conv, Winner{TimeMS: 1.5}))
	all, err := s.Problems()
	if err != nil || len(all) != 2 {
		t.Fatalf("got %v, %v", all, err)
	}
	if all[0].ProblemID != conv || all[0].Trials != 2 || all[0].WinnerMS != 1.5 || all[1].Trials != 5 || all[1].WinnerMS != 0 {
		t.Errorf("got %+v", all)
	}
	if time.Since(all[0].UpdatedAt) > time.Minute {
		t.Errorf("updated %v", all[0].UpdatedAt)
	}
	gone, err := s.Remove(func(s Summary) bool { return s.Operator() == "conv2d" })
	if err != nil || gone != 1 {
		t.Errorf("removed %v, %v", gone, err)
	}
	if got := mustTrials(t, s, conv); len(got) != 0 {
		t.Error("a removed problem has trials")
	}
	if got := mustTrials(t, s, pool); len(got) != 5 {
		t.Error("another problem's trials went too")
	}
	mustBeSound(t, s)
}

func TestWriter(t *testing.T) {
	s := open(t, newPath(t))
	w := s.Writer(pool)
	const n = 3*batchSize + 7
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := g; i < n; i += 4 {
				if err := w.Put(sample(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for range 3 {
		must.OK(t, w.Close())
	}
	if got := mustTrials(t, s, pool); len(got) != n {
		t.Errorf("got %d trials, want %d", len(got), n)
	}
	if err := w.Put(sample(0)); err == nil {
		t.Error("a closed writer takes trials")
	}
}

func TestWriterWritesWithoutBeingFull(t *testing.T) {
	s := open(t, newPath(t))
	w := s.Writer(pool)
	defer w.Close()
	must.OK(t, w.Put(sample(0)))
	for range 50 {
		if len(mustTrials(t, s, pool)) == 1 {
			return
		}
		time.Sleep(batchTime / 4)
	}
	t.Error("a trial was never written")
}

func TestWriterReportsFailure(t *testing.T) {
	s := open(t, newPath(t))
	w := s.Writer(ProblemID{Problem: "bad\x00name"})
	must.OK(t, w.Put(sample(0)))
	if err := w.Close(); err == nil {
		t.Error("a failure to write is not told")
	}
}

func TestReadOnly(t *testing.T) {
	path := newPath(t)
	if _, err := Open(t.Context(), path, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	s := open(t, path)
	fill(t, s, pool, 1)
	must.OK(t, s.Close())
	for range 2 { // two readers do not exclude each other
		reader, err := Open(t.Context(), path, Options{ReadOnly: true, Wait: -1})
		must.OK(t, err)
		defer reader.Close()
		if len(mustTrials(t, reader, pool)) != 1 {
			t.Error("the reader does not find the trial")
		}
		if err := reader.PutTrials(pool, []Entry{sample(2)}); err == nil {
			t.Error("a reader may write")
		}
		mustBeSound(t, reader)
	}
}

func TestFilesThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	zeros := filepath.Join(dir, "zeros")
	for path, content := range map[string]string{
		text: "buy milk\nand bread\n", zeros: strings.Repeat("\x00", 40000),
	} {
		must.OK(t, os.WriteFile(path, []byte(content), 0o644))
	}
	other := filepath.Join(dir, "other.db")
	writeBolt(t, other, func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("somebody else's"))
		return err
	})
	older, newer := filepath.Join(dir, "older.db"), filepath.Join(dir, "newer.db")
	for path, schema := range map[string]string{older: "1", newer: "3"} {
		fill(t, open(t, path), pool, 1)
		setSchema(t, path, schema)
	}
	tests := []struct {
		name, path, message string
		kind                any
	}{
		{"text", text, "is not an autotune cache (it is no database)", new(*ForeignError)},
		{"zeros", zeros, "is not an autotune cache", new(*ForeignError)},
		{"other program's", other, "another program's", new(*ForeignError)},
		{"older", older, "has schema 1, this autotune reads schema 2; it is left as it is: export", new(*SchemaError)},
		{"newer", newer, "has schema 3, this autotune reads schema 2", new(*SchemaError)},
		{"folder", dir, "is a directory", new(error)},
		{"below a file", filepath.Join(text, "cache.db"), "not a directory", new(error)},
		{"no such device", "/proc/no/cache.db", "--cache", new(error)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, _ := os.ReadFile(tt.path)
			_, err := Open(t.Context(), tt.path, Options{Wait: -1})
			if err == nil || !errors.As(err, tt.kind) || !strings.Contains(err.Error(), tt.message) {
				t.Fatalf("got %v, want %T with %q", err, tt.kind, tt.message)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			if after, _ := os.ReadFile(tt.path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

// A store stops writing to a cache whose schema another process changes.
func TestSchemaIsLookedAtAgain(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	fill(t, s, pool, 1)
	setSchema(t, path, "3")
	before, _ := os.ReadFile(path)
	var schema *SchemaError
	if err := s.PutTrials(pool, []Entry{sample(2)}); !errors.As(err, &schema) {
		t.Errorf("it is written to: %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the file was changed")
	}
}

func setSchema(t *testing.T, path, schema string) {
	t.Helper()
	writeBolt(t, path, func(tx *bbolt.Tx) error { return tx.Bucket(aboutBucket).Put(schemaKey, []byte(schema)) })
}

func writeBolt(t *testing.T, path string, f func(tx *bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o644, nil)
	must.OK(t, err)
	must.OK(t, errors.Join(db.Update(f), db.Close()))
}

func TestEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	must.OK(t, os.WriteFile(path, nil, 0o644))
	fill(t, open(t, path), pool, 1)
}

func TestNothingElseIsLeftBesideTheFile(t *testing.T) {
	path := newPath(t)
	open(t, path)
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

// All methods that read a trial or winner return an error if its time is impossible, such as a negative one.
func TestTimesThatCannotBe(t *testing.T) {
	s := open(t, newPath(t))
	bad := sample(2)
	bad.Trial.Time.Median = -1
	must.OK(t, s.PutTrials(pool, []Entry{bad}))
	const want = "a trial of max_pool2d 1x2x20x20 kernel=4x4 on NVIDIA H100 (cuda): -1 is no time of a launch: want milliseconds from 1e-06 to 1e+09"
	var damaged *DamagedError
	if _, err := s.Entries(pool); !errors.As(err, &damaged) || damaged.Detail != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if issues, err := s.Check(t.Context()); err != nil || len(issues) != 1 {
		t.Errorf("check gives %v, %v", issues, err)
	}
	for name, w := range map[string]Winner{
		"its own time":   {TimeMS: -1, Result: json.RawMessage(`{}`)},
		"that of a copy": {TimeMS: 1, Result: json.RawMessage(`{"winner": {"status": "ok", "time_ms": {"median": -1}}}`)},
		"a sample":       {TimeMS: 1, Result: json.RawMessage(`{"winner": {"status": "ok", "time_ms": {"median": 1}, "samples_ms": [1, 0]}}`)},
	} {
		must.OK(t, s.PutWinner(pool, w))
		if _, _, err := s.Winner(pool); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", name, err)
		}
		_, err := s.Remove(func(Summary) bool { return true })
		if err == nil {
			t.Error("a damaged winner was removed unread")
		}
		must.OK(t, s.update(func(tx *bbolt.Tx) error { return bucketOf(tx, pool).Delete(winnerKey) }))
	}
}

// Each set of timing conditions has its own trials and its own winner.
func TestConditionsAreApart(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	ids := []ProblemID{pool}
	for _, c := range []device.Conditions{{L2: device.Warm}, {Launch: device.Graph}, {L2: device.Warm, Launch: device.Graph}} {
		id := pool
		id.Conditions = c
		ids = append(ids, id)
	}
	for i, id := range ids {
		fill(t, s, id, i+1)
		must.OK(t, s.PutWinner(id, Winner{TimeMS: float64(i + 1)}))
	}
	for i, id := range ids {
		w, found, err := s.Winner(id)
		if n := len(mustTrials(t, s, id)); n != i+1 || !found || err != nil || w.TimeMS != float64(i+1) || w.Problem != id {
			t.Errorf("%s: %d trials, winner %+v, %v", id, n, w, err)
		}
	}
	all, err := s.Problems()
	if err != nil || len(all) != len(ids) {
		t.Errorf("problems %+v, %v", all, err)
	}
	mustBeSound(t, s)
}

func TestKeyNamesConditions(t *testing.T) {
	for _, key := range []string{"cuda\x00H100\x00p\x00\x00", "cuda\x00H100\x00p\x00tepid\x00", "cuda\x00H100\x00p\x00warm", "cuda\x00H100"} {
		if id, err := parseKey([]byte(key)); err == nil {
			t.Errorf("%q is read as %+v", key, id)
		}
	}
}
