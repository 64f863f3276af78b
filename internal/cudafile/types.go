package cudafile

import (
	"regexp"
	"slices"
	"strings"
)

// integerWords are the words that make up the names of C++'s integer types.
var integerWords = []string{"unsigned", "signed", "long", "short", "int", "char"}

func integerWord(word string) bool { return slices.Contains(integerWords, word) }

var otherNames = map[string]string{
	"float": "float", "double": "double", "bool": "bool", "half": "__half", "__half": "__half",
	"nv_bfloat16": "__nv_bfloat16", "__nv_bfloat16": "__nv_bfloat16",
	"__nv_fp8_e4m3": "__nv_fp8_e4m3", "__nv_fp8_e5m2": "__nv_fp8_e5m2",
	"int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
	"int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long long", "uint64_t": "unsigned long long",
	"size_t": "unsigned long long",
}

var vectorForm = regexp.MustCompile(`^(u?)(char|short|int|longlong|float|double|(?:__)?half|(?:__)?nv_bfloat16)([1-4])$`)

// Element returns the element type of a C++ type and the number of elements that it holds: float and 4 for float4,
// "unsigned int" and 1 for unsigned. For a type that is not built into C++ or CUDA, the element type is "".
func Element(name string) (element string, lanes int64) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "std::")
	lanes = 1
	if m := vectorForm.FindStringSubmatch(name); m != nil {
		name, lanes = m[2], int64(m[3][0]-'0')
		if m[1] != "" {
			name = "unsigned " + name
		}
		name = strings.Replace(name, "longlong", "long long", 1)
	}
	if known, ok := otherNames[name]; ok {
		return known, lanes
	}
	return integer(strings.Fields(name)), lanes
}

// integer returns the C++ integer type that a list of words names, or "" if one of the words names no integer.
func integer(words []string) string {
	sign, size := "", "int"
	for _, word := range words {
		switch word {
		case "unsigned":
			sign = "unsigned "
		case "char", "short":
			size = word
		case "long":
			size = "long long" // long has 64 bits, as on Linux
		case "int", "signed":
		default:
			return ""
		}
	}
	switch {
	case len(words) == 0:
		return ""
	case size == "char" && sign == "":
		return "signed char"
	}
	return sign + size
}
