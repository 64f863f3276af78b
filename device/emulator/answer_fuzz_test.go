package emulator

import (
	"bytes"
	"testing"
	"time"
)

// Whatever a kernel's program says, it is an answer or none, soon.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("launch\nrest\n{\"status\":\"ok\",\"time\":{\"median\":1,\"samples\":3}}\n"))
	f.Add([]byte("{\"status\":\"deadlock\",\"message\":\"block 3\"}\n{\"status\":\"ok\"}\nrest"))
	f.Add([]byte("\x00\xff\n{\"status\":\"ok\",\"launches\":-1,\"max_abs_error\":\"NaN\"}"))
	f.Fuzz(func(t *testing.T, said []byte) {
		select {
		case a := <-listen(bytes.NewReader(said), time.Minute, func() { t.Error("killed") }):
			if a.response == nil && !a.garbled && bytes.Contains(said, []byte("status")) && bytes.Count(said, []byte("\n")) == 0 {
				t.Errorf("%q is neither an answer nor garbled", said)
			}
		case <-time.After(10 * time.Second):
			t.Error("no end")
		}
	})
}
