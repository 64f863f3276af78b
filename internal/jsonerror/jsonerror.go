// Package jsonerror says where a JSON document is wrong.
package jsonerror

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Describe turns an error of decoding data into one that says on which line and
// in words of the document. offset is how far the decoder has come, for errors
// that do not tell; what a type's own UnmarshalJSON says is kept as it is.
func Describe(err error, data []byte, offset int64) error {
	switch err := err.(type) {
	case *json.UnmarshalTypeError:
		if err.Field == "" {
			return fmt.Errorf("line %d: the document must be an object, not %s", Line(data, err.Offset), word(err.Value))
		}
		return fmt.Errorf("line %d: %s must be %s, not %s", Line(data, err.Offset), err.Field, wanted(err.Type), word(err.Value))
	case *json.SyntaxError:
		return fmt.Errorf("line %d: not JSON: %w", Line(data, err.Offset), err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the document is cut short: its JSON ends at line %d", Line(data, int64(len(data))))
	}
	return fmt.Errorf("line %d: %s", Line(data, offset), strings.TrimPrefix(err.Error(), "json: "))
}

// wanted is JSON's word for what a Go type holds.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// word is the article and name of what package encoding/json found: "array",
// "bool" or "number 1.5", say.
func word(found string) string {
	switch found {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + found
}

// Line is the number of the line that data's byte at offset is on, from 1.
func Line(data []byte, offset int64) int {
	offset = max(0, min(offset, int64(len(data))))
	return 1 + bytes.Count(data[:offset], []byte{'\n'})
}
