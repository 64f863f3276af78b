package device

import (
	"encoding/json"
	"testing"

	"autotune/internal/test/must"
)

func TestInfoReadsNamesAsOneLine(t *testing.T) {
	var info Info
	text := `{"name":"H100\n\u001b[31m#","kind":"cuda","driver":"5\r80","compiler":"a\u009bb"}`
	must.OK(t, json.Unmarshal([]byte(text), &info))
	if want := (Info{Name: "H100  [31m#", Kind: CUDA, Driver: "5 80", Compiler: "a b"}); info != want {
		t.Errorf("%+v, want %+v", info, want)
	}
}
