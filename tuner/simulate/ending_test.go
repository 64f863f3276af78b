package simulate

import (
	"path/filepath"
	"testing"
)

// Searches that end by themselves rarely leave more than the target, and do end:
// on recordings of our own spaces and a part of another one.
func TestEndings(t *testing.T) {
	files := []string{"testdata/pnpoly__part.json.gz"}
	for _, pattern := range []string{"h100*max_pool2d*", "h200-conv2d*tf32*"} {
		some, err := filepath.Glob("../../recordings/" + pattern)
		if err != nil || len(some) != 1 {
			t.Fatalf("%s: %v, %v", pattern, some, err)
		}
		files = append(files, some...)
	}
	var recordings []*Recording
	for _, file := range files {
		r, err := Load(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		recordings = append(recordings, r)
	}
	report, err := Endings(t.Context(), recordings, Options{Repeats: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	all := report.All
	if all.Runs != 3*len(files)+2 || all.Ended < all.Runs*8/10 || all.LeftShare() > 0.1 || all.Regret > 0.005 || all.Trials > 250 {
		t.Errorf("of all: %+v", all)
	}
	for _, e := range report.Endings {
		if e.Ended > 0 && (e.Trials < 20 || e.MostRegret > 0.05) {
			t.Errorf("%+v", e)
		}
	}
}
