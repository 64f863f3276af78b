package output_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"autotune/internal/output"
	"autotune/internal/test/must"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestRegularFilesKeepTheirModeAndAppearWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must.OK(t, os.WriteFile(path, []byte("old"), 0o600))
	broken := errors.New("broke off")
	err := output.To(path, func(w io.Writer) error {
		io.WriteString(w, "ha")
		return broken
	})
	if got, _ := os.ReadFile(path); !errors.Is(err, broken) || string(got) != "old" {
		t.Errorf("after a write that broke off the file holds %q, error %v", got, err)
	}
	must.OK(t, output.To(path, text("new")))
	info, err := os.Stat(path)
	must.OK(t, err)
	if got, _ := os.ReadFile(path); string(got) != "new" || info.Mode().Perm() != 0o600 {
		t.Errorf("the file holds %q with mode %v; want new and 0600", got, info.Mode())
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("the folder holds %q, want the file alone", left)
	}
}

func TestLinksAreFollowed(t *testing.T) {
	dir := t.TempDir()
	must.OK(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	for _, test := range []struct{ name, to string }{
		{"relative", "sub/file"},
		{"absolute", filepath.Join(dir, "sub", "other")},
		{"of a link", "relative"},
	} {
		link := filepath.Join(dir, strings.Fields(test.name)[0])
		must.OK(t, os.Symlink(test.to, link))
		if err := output.To(link, text(test.name)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(link)
		got, _ := os.ReadFile(link)
		if err != nil || info.Mode()&os.ModeSymlink == 0 || string(got) != test.name {
			t.Errorf("%s link: %v, holds %q, %v; want a link to %q", test.name, info.Mode(), got, err, test.name)
		}
	}
	loop := filepath.Join(dir, "loop")
	must.OK(t, os.Symlink("loop", loop))
	if err := output.To(loop, text("x")); err == nil {
		t.Error("a link to itself was written")
	}
}

func TestWhatIsNoRegularFileIsWrittenTo(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	must.OK(t, syscall.Mkfifo(fifo, 0o600))
	read := make(chan string)
	go func() {
		got, _ := os.ReadFile(fifo)
		read <- string(got)
	}()
	must.OK(t, output.To(fifo, text("through")))
	info, err := os.Lstat(fifo)
	if got := <-read; err != nil || got != "through" || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe's reader got %q, and it is %v now (%v)", got, info.Mode(), err)
	}
	reader, writer, err := os.Pipe()
	must.OK(t, err)
	defer reader.Close()
	must.OK(t, output.To(fmt.Sprint("/dev/fd/", writer.Fd()), text("through")))
	writer.Close()
	if got, _ := io.ReadAll(reader); string(got) != "through" {
		t.Errorf("the open file got %q", got)
	}
	if err := output.To(os.DevNull, text("gone")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatalf("%s is %v now", os.DevNull, info.Mode())
	}
}

func TestCheckSaysWhatToWould(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"-":                                  "",
		os.DevNull:                           "",
		filepath.Join(dir, "new"):            "",
		dir:                                  "it is a folder; name a file",
		filepath.Join(dir, "missing", "new"): "no such file or directory",
	} {
		err := output.Check(path)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", path, err)
		case want != "" && (err == nil || err.Error() != "cannot write "+path+": "+want):
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("checking left %v behind", left)
	}
}

func TestSame(t *testing.T) {
	t.Chdir(t.TempDir())
	must.OK(t, os.Symlink("a", "link"))
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"a", "./a", true}, {"a", "link", true}, {"a", "b", false}, {"-", "-", true}, {"-", "a", false},
		{os.DevNull, os.DevNull, false},
	} {
		if got := output.Same(test.a, test.b); got != test.want {
			t.Errorf("Same(%q, %q) is %v", test.a, test.b, got)
		}
	}
}
