package operator

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestProblemRecordJSON(t *testing.T) {
	p := scale(t)
	r := p.Record()
	text, err := json.Marshal(r)
	must(t, err)
	var back ProblemRecord
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%s came back as %+v, %v", text, back, err)
	}
	again, err := p.Operator.Bind(back.Request(), p.Limits)
	if err != nil || again.String() != p.String() {
		t.Errorf("bound again to %v, %v, want %v", again, err, p)
	}
}

func TestParametersJSON(t *testing.T) {
	want := Parameters{{"stride", "1x1"}, {"kernel", "3x3"}}
	const text = `{"stride":"1x1","kernel":"3x3"}`
	var got Parameters
	if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, %v", text, got, err)
	}
	if written, err := json.Marshal(want); err != nil || string(written) != text {
		t.Errorf("written as %s, %v", written, err)
	}
	if err := json.Unmarshal([]byte(`[{"name":"stride","value":"1x1"}]`), &got); err == nil {
		t.Errorf("a list is read as %+v", got)
	}
	if err := json.Unmarshal([]byte(`{"stride":1}`), &got); err == nil || !strings.Contains(err.Error(), "parameters.stride: a value is a string, not 1") {
		t.Errorf("a number: %v", err)
	}
}
