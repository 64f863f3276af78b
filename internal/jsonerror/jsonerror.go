// Package jsonerror reports where a JSON document is wrong, in words that a user understands.
package jsonerror

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Describe turns a decoder's error into an error that names the place and the key in the document. offset is how far
// the decoder has read, for errors that contain no offset. Describe does not change the message of an error that a
// type's own UnmarshalJSON returned.
func Describe(err error, data []byte, offset int64) error {
	cut := errors.Is(err, io.ErrUnexpectedEOF)
	switch err := err.(type) {
	case *json.SyntaxError:
		if cut = err.Error() == "unexpected end of JSON input"; !cut {
			return fmt.Errorf("%s: not JSON: %w", Place(data, err.Offset-1), err)
		}
	case *json.UnmarshalTypeError:
		offset = err.Offset
	}
	if cut {
		return fmt.Errorf("the document is cut short: its JSON ends at line %d", line(data, int64(len(data))))
	}
	if key, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		// For an unknown key, the decoder's offset is the document's end, so search for the key.
		if at := bytes.Index(data, []byte(key)); at >= 0 {
			return fmt.Errorf("%s: unknown key %s; remove it or mend its spelling", Place(data, int64(at)), key)
		}
	}
	return fmt.Errorf("%s: %s", Place(data, offset-1), Words(err))
}

// Part is like Describe, for an error from decoding a part of the document data.
func Part(err error, data, part []byte) error {
	start := int64(max(0, bytes.Index(data, part)))
	var form *json.UnmarshalTypeError
	if errors.As(err, &form) {
		start += form.Offset
	}
	return fmt.Errorf("%s: %s", Place(data, start), Words(err))
}

func Words(err error) string {
	text := err.Error()
	var form *json.UnmarshalTypeError
	if errors.As(err, &form) {
		what := cmp.Or(form.Field, "the document")
		text = strings.Replace(text, form.Error(), fmt.Sprintf("%s must be %s, not %s", what, wanted(form.Type), word(form.Value)), 1)
	}
	return strings.TrimPrefix(text, "json: ")
}

// wanted names the JSON values that a Go type holds, such as "a list" or "a string".
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

// word adds an article to the name that package encoding/json gives to a JSON value, such as "array" or "number 1.5".
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

func line(data []byte, offset int64) int {
	offset = max(0, min(offset, int64(len(data))))
	return 1 + bytes.Count(data[:offset], []byte{'\n'})
}

func Place(data []byte, offset int64) string {
	offset = max(0, min(offset, int64(len(data))))
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	return fmt.Sprintf("line %d, column %d", line(data, offset), 1+utf8.RuneCount(data[start:offset]))
}
