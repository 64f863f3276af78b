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
			return fmt.Errorf("line %d: the document must be an object, not a %s", Line(data, err.Offset), err.Value)
		}
		return fmt.Errorf("line %d: %s must be a %s, not a %s", Line(data, err.Offset), err.Field, typeName(err.Type), err.Value)
	case *json.SyntaxError:
		return fmt.Errorf("line %d: not JSON: %w", Line(data, err.Offset), err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the document is cut short: its JSON ends at line %d", Line(data, int64(len(data))))
	}
	return fmt.Errorf("line %d: %s", Line(data, offset), strings.TrimPrefix(err.Error(), "json: "))
}

// typeName is JSON's word for a list, and Go's for the rest.
func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Slice {
		return "list"
	}
	return t.String()
}

// Line is the number of the line that data's byte at offset is on, from 1.
func Line(data []byte, offset int64) int {
	offset = max(0, min(offset, int64(len(data))))
	return 1 + bytes.Count(data[:offset], []byte{'\n'})
}
