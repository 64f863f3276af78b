package compile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"autotune/internal/test/must"
	"autotune/operator"
)

// counting is a compiler that counts its calls and returns the outcome that a test sets.
type counting struct {
	calls   atomic.Int64
	version string
	outcome func(ctx context.Context, r Request) (*Binary, error)
}

func (c *counting) Version() string { return c.version }
func (c *counting) Workers() int    { return 1 }
func (c *counting) Close() error    { return nil }

func (c *counting) Compile(ctx context.Context, r Request) (*Binary, error) {
	c.calls.Add(1)
	if c.outcome != nil {
		return c.outcome(ctx, r)
	}
	return &Binary{Symbols: map[string]string{"scale": "_scale"}, Code: []byte(r.Kernel.Source), Log: "a warning", Duration: time.Second}, nil
}

func compileOK(t *testing.T, c Compiler, r Request) *Binary {
	t.Helper()
	b, err := c.Compile(t.Context(), r)
	must.OK(t, err)
	return b
}

func TestCacheAnswersAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	c := &counting{version: "V 1"}
	first := compileOK(t, Cached(dir, c), good())
	again := compileOK(t, Cached(dir, c), good())
	if c.calls.Load() != 1 {
		t.Errorf("compiled %d times, want once", c.calls.Load())
	}
	if first.Cached || !again.Cached || !bytes.Equal(first.Code, again.Code) || again.Log != first.Log || again.Symbol("scale") != "_scale" || again.Symbol("other") != "other" {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

func TestCacheKeyDependsOnEverything(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]func(r *Request, c *counting){
		"source":      func(r *Request, _ *counting) { r.Kernel.Source += " " },
		"entry":       func(r *Request, _ *counting) { r.Kernel.Launches = operator.Launches{{Entry: "other"}} },
		"file":        func(r *Request, _ *counting) { r.Kernel.File = "other.cu" },
		"include":     func(r *Request, _ *counting) { r.Kernel.Includes = map[string]string{"index.cuh": ""} },
		"no include":  func(r *Request, _ *counting) { r.Kernel.Includes = nil },
		"macro value": func(r *Request, _ *counting) { r.Kernel.Macros[0].Value = "7" },
		"macro name":  func(r *Request, _ *counting) { r.Kernel.Macros[0].Name = "M" },
		"arch":        func(r *Request, _ *counting) { r.Arch = "sm_90" },
		"version":     func(_ *Request, c *counting) { c.version = "V 2" },
		"shifted": func(r *Request, _ *counting) {
			r.Kernel.Macros = []operator.Macro{{Name: "N1", Value: "000"}, {Name: "FACTOR", Value: "2.0f"}}
		},
	}
	compileOK(t, Cached(dir, &counting{version: "V 1"}), good())
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			r, c := good(), &counting{version: "V 1"}
			change(&r, c)
			if b := compileOK(t, Cached(dir, c), r); b.Cached {
				t.Error("answered with another request's binary")
			}
		})
	}
}

func TestCacheKeepsErrorsThatLast(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		calls int64
	}{
		{"source error", &Error{File: "scale.cu", Line: 4, Message: "no", Log: "log"}, 1},
		{"timeout", &Error{File: "scale.cu", Timeout: true}, 2},
		{"crash", &Error{File: "scale.cu", Crashed: true}, 2},
		{"the compiler's own", errors.New("out of order"), 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &counting{outcome: func(context.Context, Request) (*Binary, error) { return nil, tt.err }}
			dir := t.TempDir()
			for range 2 {
				if _, err := Cached(dir, c).Compile(t.Context(), good()); err == nil || err.Error() != tt.err.Error() {
					t.Errorf("got %v, want %v", err, tt.err)
				}
			}
			if c.calls.Load() != tt.calls {
				t.Errorf("compiled %d times, want %d", c.calls.Load(), tt.calls)
			}
		})
	}
}

// entryFiles returns the two files of the cache's only entry: the index file and the file with the content.
func entryFiles(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(found) != 2 {
		t.Fatalf("cache holds %v (%v), want two files of one entry", found, err)
	}
	return found
}

func TestCacheSurvivesDamage(t *testing.T) {
	tests := map[string]func(raw []byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"truncated": func(raw []byte) []byte { return raw[:len(raw)-1] },
		"head only": func(raw []byte) []byte { return raw[:20] },
		"flipped":   func(raw []byte) []byte { raw[len(raw)/2] ^= 1; return raw },
		"other":     func([]byte) []byte { return []byte("hello") },
	}
	for name, damage := range tests {
		for which := range 2 {
			t.Run(fmt.Sprint(name, " ", which), func(t *testing.T) {
				dir, c := t.TempDir(), &counting{}
				compileOK(t, Cached(dir, c), good())
				path := entryFiles(t, dir)[which]
				raw := must.Read(t, path)
				must.OK(t, os.WriteFile(path, damage(raw), 0o644))
				if b := compileOK(t, Cached(dir, c), good()); b.Cached || c.calls.Load() != 2 {
					t.Errorf("a damaged entry was used")
				}
				if b := compileOK(t, Cached(dir, c), good()); !b.Cached {
					t.Error("the damaged entry was not written anew")
				}
			})
		}
	}
}

func TestCacheDirectoryThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.OK(t, os.WriteFile(file, nil, 0o644))
	c := Cached(filepath.Join(file, "cache"), &counting{})
	for range 2 {
		compileOK(t, c, good())
	}
}

func TestSameRequestsCompileOnce(t *testing.T) {
	release := make(chan struct{})
	inner := &counting{outcome: func(context.Context, Request) (*Binary, error) {
		<-release
		return &Binary{Code: []byte("x")}, nil
	}}
	c := Cached(t.TempDir(), inner)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { compileOK(t, c, good()) })
	}
	time.Sleep(20 * time.Millisecond)
	close(release)
	group.Wait()
	if inner.calls.Load() != 1 {
		t.Errorf("compiled %d times, want once", inner.calls.Load())
	}
}

func TestAnotherCallersCancellationIsNotOurs(t *testing.T) {
	started := make(chan struct{}, 2)
	inner := &counting{}
	inner.outcome = func(ctx context.Context, _ Request) (*Binary, error) {
		started <- struct{}{}
		if inner.calls.Load() == 1 {
			<-ctx.Done()
			return nil, fmt.Errorf("stopped: %w", ctx.Err())
		}
		return &Binary{Code: []byte("x")}, nil
	}
	c := Cached(t.TempDir(), inner)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := c.Compile(ctx, good()); !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled one got %v", err)
		}
	})
	<-started
	group.Go(func() { compileOK(t, c, good()) })
	time.Sleep(20 * time.Millisecond)
	cancel()
	group.Wait()
}

// A kernel that reads its sizes at run time is compiled once for all shapes. After the sizes of a shape are written
// into the kernel's binary, the binary equals, byte for byte, the one that the compiler makes for that shape.
func TestSizesAreWrittenIn(t *testing.T) {
	c := openNVRTC(t, 1)
	op, err := operator.Find("max_pool2d")
	must.OK(t, err)
	once := &counting{outcome: func(ctx context.Context, r Request) (*Binary, error) { return c.Compile(ctx, r) }}
	compiler := Cached(t.TempDir(), once)
	for _, shape := range [][]int64{{2, 3, 12, 16}, {3, 3, 17, 20}} {
		p, err := op.Bind(operator.Request{Shape: shape, Parameters: map[string]string{"kernel": "2"}, Free: []string{"n", "h", "w"}}, operator.TypicalLimits())
		must.OK(t, err)
		k, err := p.Kernel(p.Defaults(t.Context())[0])
		must.OK(t, err)
		r := Request{Kernel: k, Arch: "sm_80"}
		if got, want := compileOK(t, compiler, r), compileOK(t, c, r); !bytes.Equal(got.Code, want.Code) {
			t.Errorf("%v: the cubins differ", shape)
		}
	}
	if n := once.calls.Load(); n != 1 {
		t.Errorf("compiled %d times, want once", n)
	}
}

// If a binary has no variable for sizes, the kernel is compiled anew with the sizes.
func TestSizesWithoutAPlace(t *testing.T) {
	op, err := operator.Find("max_pool2d")
	must.OK(t, err)
	p, err := op.Bind(operator.Request{Shape: []int64{2, 3, 12, 16}, Free: []string{"h"}}, operator.TypicalLimits())
	must.OK(t, err)
	k, err := p.Kernel(p.Defaults(t.Context())[0])
	must.OK(t, err)
	if b := compileOK(t, Cached(t.TempDir(), &counting{}), Request{Kernel: k, Arch: "sm_80"}); string(b.Code) != k.Source {
		t.Error("it was compiled with other sizes")
	}
}
