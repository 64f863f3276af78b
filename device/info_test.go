package device

import (
	"encoding/json"
	"testing"
)

func TestInfoReadsNamesAsOneLine(t *testing.T) {
	var info Info
	text := `{"name":"H100\n\u001b[31m#","kind":"cuda","driver":"5\r80","compiler":"a\u009bb"}`
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		t.Fatal(err)
	}
	if want := (Info{Name: "H100  [31m#", Kind: CUDA, Driver: "5 80", Compiler: "a b"}); info != want {
		t.Errorf("%+v, want %+v", info, want)
	}
}
