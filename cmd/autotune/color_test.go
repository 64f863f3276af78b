package main

import "testing"

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
