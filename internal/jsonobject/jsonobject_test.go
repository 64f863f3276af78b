package jsonobject

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestOrderSurvives(t *testing.T) {
	const want = `{"z":0,"a":1,"m\"":2,"é":3}`
	at := -1
	text, err := Write([]string{"z", "a", "m\"", "é"}, func(name string) (string, any) { at++; return name, at })
	if got := string(text); got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	var fields []string
	err = Read(text, func(name string, value json.RawMessage) error {
		fields = append(fields, name+"="+string(value))
		return nil
	})
	if got := fmt.Sprint(fields); err != nil || got != `[z=0 a=1 m"=2 é=3]` {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := Write([]string(nil), nil); string(got) != "{}" || err != nil {
		t.Errorf("an empty object is %s, %v", got, err)
	}
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[1]": "must be an object, not [1]", "7": "must be an object, not 7", `{"a":1,"b"}`: "expected colon", `{"a":`: "EOF", `{"a":2}`: "two is refused",
	} {
		err := Read([]byte(text), func(_ string, value json.RawMessage) error {
			if string(value) == "2" {
				return fmt.Errorf("two is refused")
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if err := Read([]byte("null"), nil); err != nil {
		t.Errorf("null: %v", err)
	}
	if _, err := Write([]string{"x"}, func(name string) (string, any) { return name, func() {} }); err == nil {
		t.Error("a function was written")
	}
}
