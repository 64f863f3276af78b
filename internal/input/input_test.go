package input

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"autotune/internal/test/must"
)

var small = Bound{Kind: "a test's file", Bytes: 1 << 10, Values: 100, Depth: 5, Items: 80}

func read(r io.Reader) ([]byte, error) {
	data, err := small.Unpack(r)
	if err == nil {
		err = small.JSON(data)
	}
	return data, err
}

func TestTooMuch(t *testing.T) {
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	if _, err := zip.Write(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	must.OK(t, zip.Close())
	for name, c := range map[string]struct{ text, want string }{
		"bytes":   {strings.Repeat(" ", 1025), "1 KiB at most"},
		"bomb":    {bomb.String(), "1 KiB at most"},
		"depth":   {strings.Repeat("[", 100), "5 levels"},
		"objects": {strings.Repeat("{},", 100), "100 values"},
		"values":  {strings.Repeat("1,", 200), "100 values"},
		"items":   {"[" + strings.Repeat("1,", 85), "80 items in one list"},
		"binary":  {"a\x00b", "not text in UTF-8"},
		"UTF-16":  {"\xff\xfea", "not text in UTF-8"},
	} {
		path := filepath.Join(t.TempDir(), "f")
		must.OK(t, os.WriteFile(path, []byte(c.text), 0o644))
		if _, err := File(t.Context(), path, read); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	if _, err := File(t.Context(), "/dev/zero", read); err == nil || !strings.Contains(err.Error(), "1 KiB at most") {
		t.Errorf("/dev/zero: %v", err)
	}
}

func TestBracketsInStringsAreText(t *testing.T) {
	text := "\uFEFF" + `["[[[[[[[[", "\"[[[[[["]`
	if data, err := read(strings.NewReader(text)); err != nil || !bytes.HasPrefix(data, []byte("[")) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestLongText(t *testing.T) {
	most := Bound{Kind: "a test's file", Bytes: 2 << 20, Values: 100, Depth: 5}
	for _, c := range []struct {
		bytes int
		fine  bool
	}{{longestText - 1, true}, {longestText, false}} {
		text := `["` + strings.Repeat("a", c.bytes) + `"]`
		if err := most.JSON([]byte(text)); (err == nil) != c.fine {
			t.Errorf("a text of %d bytes: %v", c.bytes, err)
		}
	}
}

// File returns when its context ends, even while it reads a pipe that nobody writes to.
func TestFileGivesUpWithTheContext(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := File(ctx, pipe, read); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	// Open the pipe for writing, so that the goroutine that still reads the pipe ends.
	if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		f.Close()
	}
}

func TestFolder(t *testing.T) {
	if _, err := File(t.Context(), t.TempDir(), read); err == nil || !strings.Contains(err.Error(), "it is a folder") {
		t.Errorf("got %v", err)
	}
}
