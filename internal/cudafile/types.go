package cudafile

import (
	"regexp"
	"slices"
	"strings"
)

// integerWords are what C++ makes the names of its integers of.
var integerWords = []string{"unsigned", "signed", "long", "short", "int", "char"}

func integerWord(word string) bool { return slices.Contains(integerWords, word) }

// otherNames are further names of types.
var otherNames = map[string]string{
	"float": "float", "double": "double", "bool": "bool",
	"half": "__half", "__half": "__half", "half2": "__half", "__half2": "__half",
	"nv_bfloat16": "__nv_bfloat16", "__nv_bfloat16": "__nv_bfloat16", "nv_bfloat162": "__nv_bfloat16", "__nv_bfloat162": "__nv_bfloat16",
	"__nv_fp8_e4m3": "__nv_fp8_e4m3", "__nv_fp8_e5m2": "__nv_fp8_e5m2",
	"int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
	"int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long long", "uint64_t": "unsigned long long", "size_t": "unsigned long long",
}

// vectorForm is a vector of CUDA's, as float4.
var vectorForm = regexp.MustCompile(`^(u?)(char|short|int|longlong|float|double)([1-4])$`)

// Element is the type of the elements that a type of a file is made of, as CUDA C++
// calls the types of tensors: of float4 it is float, of unsigned it is unsigned int.
// It is "" for what the file, or a header, may have made of any type.
func Element(name string) string {
	name = strings.TrimPrefix(strings.TrimSpace(name), "std::")
	if known, ok := otherNames[name]; ok {
		return known
	}
	if m := vectorForm.FindStringSubmatch(name); m != nil {
		words := strings.Fields(map[string]string{"u": "unsigned "}[m[1]] + strings.Replace(m[2], "longlong", "long long", 1))
		if m[2] == "float" || m[2] == "double" {
			return m[2]
		}
		return integer(words)
	}
	return integer(strings.Fields(name))
}

// integer is the type that words of integers make.
func integer(words []string) string {
	count := map[string]int{}
	for _, word := range words {
		if !integerWord(word) {
			return ""
		}
		count[word]++
	}
	size := ""
	switch {
	case len(words) == 0:
		return ""
	case count["char"] > 0:
		size = "char"
	case count["short"] > 0:
		size = "short"
	case count["long"] > 0:
		size = "long long" // long has 64 bits, as on Linux
	default:
		size = "int"
	}
	switch {
	case count["unsigned"] > 0:
		return "unsigned " + size
	case size == "char":
		return "signed char"
	}
	return size
}
