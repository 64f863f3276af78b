package reports

import (
	"bytes"
	"testing"
)

func TestPainter(t *testing.T) {
	const plain = "winner      a b=1\n            c=2\nlaunch      x\n\ntrials      3 of 9: 1 ok, 2 crashed\nok            a\n    ok so\nwarnings    - w\n"
	const colored = "\x1b[1mwinner      a b=1\n            c=2\x1b[0m\nlaunch      x\n\ntrials      3 of 9: 1 ok, \x1b[31m2 crashed\x1b[0m\n" +
		"\x1b[32mok\x1b[0m            a\n    ok so\n\x1b[33mwarnings\x1b[0m    - w\n"
	var out bytes.Buffer
	if n, err := (Painter{&out}).Write([]byte(plain)); n != len(plain) || err != nil {
		t.Error(n, err)
	}
	if out.String() != colored {
		t.Errorf("got %q\nwant %q", out.String(), colored)
	}
}
