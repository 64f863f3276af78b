package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator/tree"
)

func TestReadProblems(t *testing.T) {
	text := "- {operator: a, shape: [1, 2], parameters: {k: [3, 5], b: True, s: 3x5, n: 0x10}, math: fp32, baselines: {e: 2}}\n- operator: ./b\n  shape: 7\n"
	problems, err := ReadProblems("p.yaml", text)
	must.OK(t, err)
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprint(p.Operator, p.Request.Shape, p.Request.Parameters, p.Request.Math, p.Baselines))
	}
	want := []string{"a[1 2] map[b:true k:3x5 n:16 s:3x5]fp32map[e:2]", "./b[7] map[]map[]"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Problems with the largest share come first, and problems without a share keep their order.
func TestSharesOfProblems(t *testing.T) {
	text := "- {operator: a, shape: 1}\n- {operator: b, shape: 1, calls: 640, share: 0.25}\n- {operator: c, shape: 1}\n- {operator: d, shape: 1, share: 5e-1}\n"
	problems, err := ReadProblems("p.yaml", text)
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprint(p.Operator, p.Calls, " ", p.Share))
	}
	if want := []string{"d0 0.5", "b640 0.25", "a0 0", "c0 0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestReadProblemsFindsFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "p.yaml:1:1: the file is empty; want a list",
		"[]":                              "p.yaml:1:1: the file holds no problem",
		"a: 1":                            "p.yaml:1:1: want a list of {operator",
		"- {operator: a}":                 "a problem lacks the key `shape`",
		"- {operator: a, shap: 1}":        "p.yaml:1:17: unknown key `shap`; did you mean `shape`?",
		"- {operator: a, shape: {n: 1}}":  "it is a mapping",
		"- {operator: a, shape: [1, -2]}": "`1x-2` is not a shape",
		"- {operator: a, shape: 1, baselines: {x: y}}": "a time in milliseconds",
		"- {operator: a, shape: &x 1}":                 "anchors and aliases have no place in a list of problems",
		"- {operator: a, shape: 1, share: 1.5}":        "p.yaml:1:34: this must be a part of the time, from 0 to 1; it is `1.5`",
		"- {operator: a, shape: 1, share: nan}":        "a part of the time, from 0 to 1",
		"- {operator: a, shape: 1, calls: -1}":         "how often the problem is computed, as 640; it is `-1`",
		"- {operator: a, shape: 1, calls: 2.5}":        "a whole number of times, as 640; it is `2.5`",
		"- {operator: a, shape: 1, calls: [1]}":        "it is a list",
		"- 1\n---\n- 2":                                "give all problems in one list",
		strings.Repeat("- a\n", 1001):                  "1000 are the most",
		strings.Repeat("[", 1000):                      "nested too deep to be part of a list of problems",
	} {
		_, err := ReadProblems("p.yaml", text)
		var fault *tree.Error
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %s", text, err, want)
		}
	}
}

func FuzzReadProblems(f *testing.F) {
	f.Add("- {operator: a, shape: [1, 2], parameters: {k: [3, 5]}, baselines: {e: 2}}")
	f.Add("- operator: b\n\tshape: 7")
	f.Add("- {operator: a, shape: 1, calls: 640, share: 0.25}")
	f.Fuzz(func(t *testing.T, text string) {
		problems, err := ReadProblems("p.yaml", text)
		var fault *tree.Error
		if (err == nil) != (len(problems) > 0) || err != nil && !errors.As(err, &fault) {
			t.Errorf("%d problems, %v", len(problems), err)
		}
	})
}
