package main

import "testing"

func TestWantsColor(t *testing.T) {
	for _, tt := range []struct {
		env      map[string]string
		terminal bool
		want     bool
	}{
		{nil, true, true},
		{nil, false, false},
		{map[string]string{"TERM": "dumb"}, true, false},
		{map[string]string{"NO_COLOR": "1"}, true, false},
		{map[string]string{"NO_COLOR": ""}, true, true},
		{map[string]string{"CLICOLOR_FORCE": "1"}, false, true},
		{map[string]string{"CLICOLOR_FORCE": "0"}, false, false},
		{map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false, false},
	} {
		if got := wantsColor(func(name string) string { return tt.env[name] }, tt.terminal); got != tt.want {
			t.Errorf("%v, terminal %v: got %v", tt.env, tt.terminal, got)
		}
	}
}
