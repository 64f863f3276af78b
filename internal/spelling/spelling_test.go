package spelling

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"search", "space", "ops", "max_pool2d", "--shape"}
	for word, want := range map[string]string{
		"serach":    "search",
		"SPACE":     "space",
		"spcae":     "space",
		"op":        "ops",
		"MaxPool2d": "max_pool2d",
		"--shpae":   "--shape",
		"nope":      "",
		"xyz":       "",
		"dance":     "",
		"":          "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	if got := Nearest("opt", []string{"opx", "opa"}); got != "opa" {
		t.Errorf("of two as near got %q, want the first in the alphabet", got)
	}
}
