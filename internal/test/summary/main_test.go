package main

import (
	"strings"
	"testing"

	"autotune/internal/test/testneeds"
)

func TestSummarize(t *testing.T) {
	const events = `{"Action":"output","Package":"p","Test":"TestGood","Output":"    quiet\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"    loud\n"}
{"Action":"output","Package":"p","Test":"TestSkipped","Output":"    x_test.go:1: left out without NumPy\n"}
{"Action":"skip","Package":"p","Test":"TestSkipped"}
{"Action":"fail","Package":"p","Test":"TestBad"}
{"Action":"output","Package":"p","Test":"TestStuck","Output":"    stuck\n"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
{"Action":"output","Package":"q","Output":"PASS\n"}
{"Action":"output","Package":"q","Output":"ok  \tq\t(cached)\n"}
{"Action":"pass","Package":"q"}
{"Action":"output","Package":"r","Output":"?   \tr\t[no test files]\n"}
{"Action":"skip","Package":"r"}
{"Action":"build-output","ImportPath":"s","Output":"s.go:1: wrong\n"}
`
	var out strings.Builder
	left := testneeds.Summary{}
	if err := summarize(strings.NewReader(events), &out, left); err != nil {
		t.Fatal(err)
	}
	left.Print(&out)
	want := "    loud\n    stuck\nFAIL\nFAIL\tp\t0.1s\nok  \tq\t(cached)\ns.go:1: wrong\nleft out without NumPy: 1 test; to run: " + testneeds.NumPy.Get + "\n"
	if out.String() != want {
		t.Errorf("%q\nwant %q", out.String(), want)
	}
	if err := summarize(strings.NewReader("panic\n"), &out, left); err == nil {
		t.Error("takes what is no event")
	}
}
