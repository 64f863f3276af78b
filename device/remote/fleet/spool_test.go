package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"autotune/device/remote"
)

// shop is where objects are fetched from, as they were stored.
type shop map[string]string

// stored puts a data file there.
func (o shop) stored(contents string) remote.Data {
	d := remote.Data{Object: remote.DataName(fmt.Sprintf("%x", sha256.Sum256([]byte(contents)))), Bytes: int64(len(contents))}
	o[d.Object] = contents
	return d
}

func (o shop) fetch(_ context.Context, object string, most int64, to io.Writer) error {
	contents, ok := o[object]
	switch {
	case !ok:
		return errors.New("there is no such object")
	case int64(len(contents)) > most:
		return fmt.Errorf("it has more than %d bytes", most)
	}
	_, err := io.WriteString(to, contents)
	return err
}

// Data files are fetched once and stay while they are held; what nobody holds makes way, and comes back when it is
// needed again.
func TestSpool(t *testing.T) {
	o := shop{}
	s := &Spool{Most: 250}
	data := map[string]remote.Data{}
	for _, name := range []string{"a", "b", "c"} {
		data[name] = o.stored(strings.Repeat(name, 100))
	}
	hold := func(names ...string) (fs.FS, func(), error) {
		files := map[string]remote.Data{}
		for _, name := range names {
			files[name+".npy"] = data[name]
		}
		return s.hold(t.Context(), o.fetch, files)
	}
	there := func() string {
		text := ""
		for _, name := range []string{"a", "b", "c"} {
			if s.files[data[name].Object] != nil {
				text += name
			}
		}
		return text
	}
	files, releaseA, err := hold("a")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadFile(files, "a.npy"); err != nil || string(text) != strings.Repeat("a", 100) {
		t.Errorf("a.npy holds %q, %v", text, err)
	}
	if _, err := files.Open("b.npy"); err == nil {
		t.Error("an operator can open what is not its own")
	}
	_, releaseB, err := hold("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := hold("c"); err == nil || !strings.Contains(err.Error(), "this worker's disk may be used for 250, and open problems need 200 of them") || there() != "ab" {
		t.Errorf("with no room: %v, %s are there", err, there())
	}
	releaseB()
	if _, release, err := hold("c"); err != nil || there() != "ac" {
		t.Errorf("b was to make way: %v, %s are there", err, there())
	} else {
		release()
	}
	releaseA()
	releaseA() // once is enough
	if _, _, err := hold("b"); err != nil || len(there()) != 2 || !strings.Contains(there(), "b") {
		t.Errorf("one was to make way for b: %v, %s are there", err, there())
	}
	dir := s.folder.Dir
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(files, "b.npy"); err == nil {
		t.Errorf("%s is still there", dir)
	}
}

// A file that is not what its name says, or larger than was said, is not taken.
func TestSpoolBelievesNobody(t *testing.T) {
	o := shop{remote.DataName(strings.Repeat("0", 64)): "wrong"}
	d := o.stored("right")
	for want, one := range map[string]remote.Data{
		"holds something else":     {Object: remote.DataName(strings.Repeat("0", 64)), Bytes: 5},
		"it has more than 4 bytes": {Object: d.Object, Bytes: 4},
		"there is no such object":  {Object: remote.DataName(strings.Repeat("1", 64)), Bytes: 4},
	} {
		s := &Spool{}
		_, _, err := s.hold(t.Context(), o.fetch, map[string]remote.Data{"x.npy": one})
		if err == nil || !strings.Contains(err.Error(), want) || s.taken != 0 {
			t.Errorf("got %v with %d bytes taken, want %q", err, s.taken, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
