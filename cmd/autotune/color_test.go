package main

import (
	"bytes"
	"testing"
)

func TestWantsColor(t *testing.T) {
	for _, tt := range []struct {
		when     string
		env      map[string]string
		terminal bool
		want     bool
	}{
		{"auto", nil, true, true},
		{"auto", nil, false, false},
		{"auto", map[string]string{"TERM": "dumb"}, true, false},
		{"auto", map[string]string{"NO_COLOR": "1"}, true, false},
		{"auto", map[string]string{"NO_COLOR": ""}, true, true},
		{"auto", map[string]string{"CLICOLOR_FORCE": "1"}, false, true},
		{"auto", map[string]string{"CLICOLOR_FORCE": "0"}, false, false},
		{"auto", map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false, false},
		{"always", map[string]string{"NO_COLOR": "1"}, false, true},
		{"never", map[string]string{"CLICOLOR_FORCE": "1"}, true, false},
	} {
		if got := wantsColor(tt.when, func(name string) string { return tt.env[name] }, tt.terminal); got != tt.want {
			t.Errorf("--color %s, %v, terminal %v: got %v", tt.when, tt.env, tt.terminal, got)
		}
	}
}

func TestPainter(t *testing.T) {
	const plain = "winner      a b=1\n            c=2\nlaunch      x\n\ntrials      3 of 9: 1 ok, 2 crashed\nok            a\n    ok so\nwarnings    - w\n"
	const colored = "\x1b[1mwinner      a b=1\n            c=2\x1b[0m\nlaunch      x\n\ntrials      3 of 9: 1 ok, \x1b[31m2 crashed\x1b[0m\n" +
		"\x1b[32mok\x1b[0m            a\n    ok so\n\x1b[33mwarnings\x1b[0m    - w\n"
	var out bytes.Buffer
	if n, err := (painter{&out}).Write([]byte(plain)); n != len(plain) || err != nil {
		t.Error(n, err)
	}
	if out.String() != colored {
		t.Errorf("got %q\nwant %q", out.String(), colored)
	}
}
