package t1

import (
	"fmt"
	"strings"
)

// earlyNames are keys of an early draft of T1 whose names differ in more than their first
// letter.
var earlyNames = map[string]string{
	"blockSize": "LocalSize", "gridSize": "GlobalSize", "length": "Size", "value": "FillValue", "path": "DataSource", "constraints": "Conditions",
}

// earlyWords are keys whose values such a draft writes in lower case.
var earlyWords = []string{"MemoryType", "FillType", "AccessType"}

// renew writes the keys of a document of an early draft as T1 1.0 has them. Another document
// stays as it is.
func renew(root map[string]any) (map[string]any, error) {
	if functions, ok := root["function_specification"].([]any); ok {
		return nil, fmt.Errorf("its function_specification, a key of an early draft of T1, has %d kernels: write a document with a KernelSpecification for each of them", len(functions))
	}
	if root["kernelSpecification"] == nil || root["KernelSpecification"] != nil {
		return root, nil
	}
	renewed := map[string]any{}
	for key, value := range root {
		if key == "kernelSpecification" || key == "benchmarkConfig" || key == "ConfigurationSpace" {
			value = renewedValue(value, key == "benchmarkConfig")
			key = upper(key)
		}
		renewed[key] = value
	}
	return renewed, nil
}

// renewedValue renews the keys of all objects within a value. Names of the document's own
// stay.
func renewedValue(value any, names bool) any {
	switch v := value.(type) {
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = renewedValue(one, names)
		}
		return all
	case map[string]any:
		if names {
			return v
		}
		renewed := map[string]any{}
		for key, inner := range v {
			if later, ok := earlyNames[key]; ok {
				key = later
			}
			key = upper(key)
			renewed[key] = renewedValue(inner, false)
			for _, word := range earlyWords {
				if text, ok := inner.(string); ok && key == word {
					renewed[key] = upper(text)
				}
			}
		}
		return renewed
	}
	return value
}

func upper(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
