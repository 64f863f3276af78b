package torchtimes

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"autotune/internal/test/testneeds"
	"autotune/operator"
)

// scripts/holes.py has torch.compile fill its cache for calls that it makes itself. They are the calls that a search
// makes, for every row, and every operator has rows.
func TestHolesCallPyTorchAlike(t *testing.T) {
	testneeds.Python.Need(t)
	described := t.TempDir()
	all, err := operator.Operators()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(described, o.Name+".json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	autotune := filepath.Join(described, "autotune") // ops show OPERATOR --json -
	if err := os.WriteFile(autotune, []byte("#!/bin/sh\nexec cat \"${0%/*}/$3.json\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("python3", "../../scripts/holes.py", "--calls")
	command.Env = append(os.Environ(), "AUTOTUNE="+autotune, "PYTHONDONTWRITEBYTECODE=1")
	command.Stderr = os.Stderr
	said, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name, Operator, Shape, Math string
		Parameters                  map[string]string
		Call                        *call // nil: PyTorch has no function for it
	}
	if err := json.Unmarshal(said, &rows); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, row := range rows {
		seen[row.Operator]++
		shape, err := operator.ParseShape(row.Shape)
		if err != nil {
			t.Fatal(err)
		}
		p := bind(t, row.Operator, shape, row.Parameters)
		var calls []call
		for _, known := range p.Torch() {
			calls = append(calls, callOf(known, ""))
		}
		if row.Call == nil {
			if len(calls) > 0 && calls[0].Function != row.Operator { // a name of autotune's own is no function of PyTorch's
				t.Errorf("%s: holes.py knows no call, a search makes %v", row.Name, calls)
			}
			continue
		}
		at := slices.IndexFunc(calls, func(c call) bool { return c.Function == row.Call.Function })
		if at < 0 {
			t.Errorf("%s: holes.py calls %s, a search %v", row.Name, row.Call.Function, calls)
			continue
		}
		want := calls[at]
		for name, tensor := range want.Tensors { // numbers that only fill it
			tensor.Low, tensor.High = 0, 0
			want.Tensors[name] = tensor
		}
		if got, want := plainly(t, row.Call), plainly(t, want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: holes.py calls\n%v, a search\n%v", row.Name, got, want)
		}
	}
	for _, o := range all {
		if seen[o.Name] < 6 {
			t.Errorf("%s has %d rows; three problems of two types are wanted", o.Name, seen[o.Name])
		}
	}
}

// plainly is a value as JSON has it.
func plainly(t *testing.T, value any) (plain any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
