package jsonobject

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"autotune/internal/jsonerror"
)

// Exact refuses a document that readers in other languages could understand differently from package
// encoding/json. That package takes "Entries" for the field entries, and the last of two equal keys. So Exact refuses
// equal keys of one object, keys that are a field of into but for their case, and text that is not Unicode. A document
// that is no JSON passes: the parser says where it is wrong.
func Exact(data []byte, into any) error {
	if !json.Valid(data) {
		return nil
	}
	e := exact{data: data}
	return e.value(reflect.TypeOf(into))
}

// exact stands at a place of a valid document.
type exact struct {
	data []byte
	at   int
}

func (e *exact) refuse(at int, format string, args ...any) error {
	return fmt.Errorf("%s: %s", jsonerror.Place(e.data, int64(at)), fmt.Sprintf(format, args...))
}

// space passes over what parts tokens, and gives the next byte; 0 at the end.
func (e *exact) space() byte {
	for e.at < len(e.data) {
		switch c := e.data[e.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			e.at++
		default:
			return c
		}
	}
	return 0
}

// value passes over a value that is read into a type; nil: nobody knows its fields.
func (e *exact) value(t reflect.Type) error {
	t = plain(t)
	switch e.space() {
	case '{':
		return e.object(t)
	case '[':
		var of reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			of = t.Elem()
		}
		for e.at++; e.space() != ']'; {
			if err := e.value(of); err != nil {
				return err
			}
		}
		e.at++
	case '"':
		_, err := e.text()
		return err
	default:
		for e.at < len(e.data) && strings.IndexByte(" \t\r\n,:]}", e.data[e.at]) < 0 {
			e.at++
		}
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
	for e.at++; e.space() != '}'; {
		start := e.at
		key, err := e.text()
		if err != nil {
			return err
		}
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
	e.at++
	return nil
}

// text passes over a string and gives what it stands for.
func (e *exact) text() (string, error) {
	start := e.at
	escaped := false
	for e.at++; e.data[e.at] != '"'; e.at++ {
		if e.data[e.at] == '\\' {
			escaped = true
			e.at++
		}
	}
	e.at++
	written := e.data[start:e.at]
	if !utf8.Valid(written) {
		return "", e.refuse(start, "a text is not UTF-8")
	}
	if !escaped {
		return string(written[1 : len(written)-1]), nil
	}
	if halfSurrogate(string(written)) {
		return "", e.refuse(start, "the text %.80s has half of a surrogate pair, which is no character", written)
	}
	var text string
	err := json.Unmarshal(written, &text)
	return text, err
}

// halfSurrogate tells whether a text has an escaped half of a surrogate pair alone.
func halfSurrogate(written string) bool {
	high := false // the escape before this place is the first half
	for i := 0; i < len(written); i++ {
		unit := uint64(0)
		if written[i] == '\\' {
			if i++; written[i] == 'u' {
				unit, _ = strconv.ParseUint(written[i+1:i+5], 16, 32)
				i += 4
			}
		}
		low := unit >= 0xDC00 && unit < 0xE000
		if low != high {
			return true
		}
		high = unit >= 0xD800 && unit < 0xDC00
	}
	return high
}

var (
	ownReader = reflect.TypeFor[json.Unmarshaler]()
	ownText   = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// plain is the type behind pointers; nil for one that reads itself.
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

// fieldsOf are a struct's fields by their keys, with those of embedded structs.
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
