// Package jsonobject reads and writes JSON objects whose fields are ordered, since Go's maps lose the order.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Read calls the function each for every field of an object, in order. Read treats null as an object without fields.
func Read(data []byte, each func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	switch t, err := d.Token(); {
	case err != nil:
		return err
	case t == nil:
		return nil
	case t != json.Delim('{'):
		return fmt.Errorf("must be an object, not %.40s", data)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := each(name.(string), value); err != nil {
			return err
		}
	}
	return nil
}

// Write encodes items as a JSON object; field returns an item's name and value.
func Write[T any](items []T, field func(T) (name string, value any)) ([]byte, error) {
	object := []byte{'{'}
	for i, item := range items {
		name, value := field(item)
		key, _ := json.Marshal(name) // a string can always be encoded
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if i > 0 {
			object = append(object, ',')
		}
		object = append(append(append(object, key...), ':'), text...)
	}
	return append(object, '}'), nil
}
