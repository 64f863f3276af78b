package jsonobject

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"autotune/internal/jsonerror"
)

// Exact refuses a document that readers in other languages may understand differently from package encoding/json.
// Package encoding/json accepts "Entries" for the field entries, and uses the last of two equal keys. Exact refuses
// equal keys in one object, keys that differ only in case from a field of the Go type, and text that is not Unicode.
// Exact accepts a document that is not JSON, because the parser that reads it afterwards reports where it is wrong.
func Exact(data []byte, into any) error {
	if !json.Valid(data) {
		return nil
	}
	e := exact{data, json.NewDecoder(bytes.NewReader(data))}
	if at := len(validPrefix(data)); at < len(data) {
		return e.refuse(at, "a text is not UTF-8")
	}
	if at := halfSurrogate(data); at >= 0 {
		return e.refuse(at, "%.6s is half of a surrogate pair, which is no character", data[at:])
	}
	return e.value(reflect.TypeOf(into))
}

func validPrefix(data []byte) []byte {
	valid := bytes.ToValidUTF8(data, nil)
	for i := range valid {
		if valid[i] != data[i] {
			return data[:i]
		}
	}
	return valid
}

// exact walks through a document that is valid JSON.
type exact struct {
	data   []byte
	tokens *json.Decoder
}

func (e *exact) refuse(at int, format string, args ...any) error {
	return fmt.Errorf("%s: %s", jsonerror.Place(e.data, int64(at)), fmt.Sprintf(format, args...))
}

// value checks a JSON value that would be decoded into type t; t is nil if the value's fields are not known.
func (e *exact) value(t reflect.Type) error {
	t = plain(t)
	switch token, _ := e.tokens.Token(); token {
	case json.Delim('{'):
		return e.object(t)
	case json.Delim('['):
		var of reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			of = t.Elem()
		}
		for e.tokens.More() {
			if err := e.value(of); err != nil {
				return err
			}
		}
		_, _ = e.tokens.Token()
	}
	return nil
}

func (e *exact) object(t reflect.Type) error {
	var known map[string]reflect.Type
	var each reflect.Type
	switch {
	case t == nil:
	case t.Kind() == reflect.Struct:
		known = fieldsOf(t)
	case t.Kind() == reflect.Map:
		each = t.Elem()
	}
	seen := map[string]bool{}
	for e.tokens.More() {
		start := int(e.tokens.InputOffset())
		start += bytes.IndexByte(e.data[start:], '"')
		token, _ := e.tokens.Token()
		key := token.(string)
		if seen[key] {
			return e.refuse(start, "the key %.80q stands twice in one object", key)
		}
		seen[key] = true
		of, exactly := known[key]
		if !exactly {
			of = each
			for name := range known {
				if strings.EqualFold(name, key) {
					return e.refuse(start, "the key %.80q is spelled %q", key, name)
				}
			}
		}
		if err := e.value(of); err != nil {
			return err
		}
	}
	_, _ = e.tokens.Token()
	return nil
}

// halfSurrogate returns the offset of an escaped surrogate without its other half, or -1 if there is none.
func halfSurrogate(data []byte) int {
	high := -1 // where the first half is that ends at this place
	for i := 0; i < len(data); i++ {
		start, unit := i, uint64(0)
		if data[i] == '\\' {
			if i++; data[i] == 'u' {
				unit, _ = strconv.ParseUint(string(data[i+1:i+5]), 16, 32)
				i += 4
			}
		}
		switch low := unit >= 0xDC00 && unit < 0xE000; {
		case high >= 0 && !low:
			return high
		case high < 0 && low:
			return start
		}
		if high = -1; unit >= 0xD800 && unit < 0xDC00 {
			high = start
		}
	}
	return -1
}

var (
	ownReader = reflect.TypeFor[json.Unmarshaler]()
	ownText   = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// plain removes the pointers from a type. plain returns nil for a type that decodes itself.
func plain(t reflect.Type) reflect.Type {
	for t != nil {
		if p := reflect.PointerTo(t); t.Kind() == reflect.Interface || p.Implements(ownReader) || p.Implements(ownText) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			return t
		}
		t = t.Elem()
	}
	return nil
}

var knownFields sync.Map // by their type

// fieldsOf returns a struct's fields by their JSON keys, including those of embedded structs.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Anonymous && key == "" && f.Type.Kind() == reflect.Struct
		if key == "-" || !f.IsExported() || embedded {
			continue
		}
		if key == "" {
			key = f.Name
		}
		if _, taken := fields[key]; !taken {
			fields[key] = f.Type
		}
	}
	knownFields.Store(t, fields)
	return fields
}
