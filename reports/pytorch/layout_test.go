package pytorch

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"autotune/internal/test/testneeds"
	"autotune/operator"
)

// A module gives its output in the layout that it was tuned for or asked for, or, where that is auto, in the
// input's. The tuned kernel serves the layout that it was tuned for alone.
func TestModulesKnowLayouts(t *testing.T) {
	testneeds.Python.Need(t)
	o, err := operator.Find("avg_pool2d")
	if err != nil {
		t.Fatal(err)
	}
	type call struct {
		Asked string `json:"asked"`
		Last  bool   `json:"last"` // the input lies channels-last
	}
	type outcome struct{ Tuned, Last bool }
	for tuned, calls := range map[string]map[call]outcome{
		"nchw": {{"", false}: {true, false}, {"", true}: {true, false}, {"auto", false}: {true, false}, {"auto", true}: {false, true}, {"nhwc", false}: {false, true}, {"nchw", true}: {true, false}},
		"nhwc": {{"", false}: {true, true}, {"", true}: {true, true}, {"auto", false}: {false, false}, {"auto", true}: {true, true}, {"nhwc", false}: {true, true}, {"nchw", true}: {false, false}},
	} {
		w := winners(t, o, operator.Request{Shape: []int64{2, 8, 9, 10}, Parameters: map[string]string{"kernel": "3", "layout": tuned}})[0]
		path := filepath.Join(t.TempDir(), "module.py")
		if err := os.WriteFile(path, []byte(export(t, w)), 0o644); err != nil {
			t.Fatal(err)
		}
		for c, want := range calls {
			given, _ := json.Marshal(c) // plain data
			command := exec.CommandContext(t.Context(), "python3", "testdata/layouts.py", path, string(given))
			command.Env = append(os.Environ(), "PYTHONPATH=testdata", "PYTHONDONTWRITEBYTECODE=1")
			command.Stderr = os.Stderr
			output, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got outcome
			if err := json.Unmarshal(output, &got); err != nil || got != want {
				t.Errorf("tuned for %s, called with %+v: %+v, %v; want %+v", tuned, c, got, err, want)
			}
		}
	}
}
