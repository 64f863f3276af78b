package t1

import (
	"bytes"
	"strings"
	"testing"

	"autotune/space"
)

func TestSpaces(t *testing.T) {
	t1 := `{"$schema": "http://json-schema.org/draft-07/schema#",
		"General": {"BenchmarkName": "gemm", "FormatVersion": 1, "LoggingLevel": "Debug", "TimeUnit": "Microseconds", "OutputFile": "out", "OutputFormat": "JSON", "BenchmarksPath": "benchmarks"},
		"Search": {"Name": "MarkovChainMonteCarlo", "Attributes": [{"Name": "a", "Value": "1"}]}, "SearchSettings": {"Trials": 10},
		"Budget": [{"Type": "ConfigurationCount", "BudgetValue": 200}], "BenchmarkConfig": {"iterations": 10},
		"KernelSpecification": {"Language": "CUDA", "KernelName": "gemm", "GridDivX": ["b"], "Stream": null}, "ConfigurationSpace": {"TuningParameters": [
		{"Name": "b", "Type": "int", "Values": "[1, 2, 4]", "Default": 1},
		{"Name": "a", "Type": "string", "Values": "['row', 'col']"},
		{"Name": "c", "Values": [0.5, true]}],
		"Conditions": [{"Expression": "b > 1 or a == 'row'", "Parameters": ["a", "b"]}]}}`
	got, err := Spaces(strings.NewReader(t1))
	if err != nil {
		t.Fatal(err)
	}
	part := got[0].Part
	part.Template = "k"
	s, err := space.New(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 10 || got[0].Valid != -1 || got[0].Name != "gemm" || s.At(0).Key() != "k|b=1|a=row|c=0.5" {
		t.Errorf("%+v: %d configurations, first %s", got, s.Len(), s.At(0).Key())
	}
	for src, want := range map[string]string{
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "[1, x]"}]}}`: `tunable a: Values: "[1, x]", column 5: unknown name 'x'`,
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "[1, 2"}]}}`:  `tunable a: Values: "[1, 2", column 6: expected ']'`,
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": {"b": 1}}]}}`: "tunable a: Values: neither a list",
		`{"ConfigurationSpace": {"TuningParameters": [{"Values": "[1]"}]}}`:                 "TuningParameters[0] has no Name",
		`{"ConfigurationSpace": {"TuningParameters": [], "Condition": [1]}}`:                `unknown key "ConfigurationSpace.Condition"`,
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Value": "[1]"}]}}`:     `unknown key "ConfigurationSpace.TuningParameters[0].Value"`,
		`{"ConfigurationSpace": {}, "constraints": [1]}`:                                    `unknown key "constraints"`,
		`{"ConfigurationSpace": {}, "Conditions": [1]}`:                                     `unknown key "Conditions"`,
	} {
		if _, err := Spaces(strings.NewReader(src)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
	if own, err := Spaces(strings.NewReader(`[{"params": {"a": [1]}}, {"params": {}}]`)); err != nil || len(own) != 2 {
		t.Errorf("%v, %v, want two spaces", own, err)
	}
}

// FuzzSpaces: what a file says of spaces is read or refused.
func FuzzSpaces(f *testing.F) {
	f.Add([]byte(`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "(1, 'x')"}], "Conditions": [{"Expression": "a"}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = Spaces(bytes.NewReader(data)) })
}
