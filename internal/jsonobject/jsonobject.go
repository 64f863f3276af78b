// Package jsonobject reads and writes JSON objects whose order matters, which Go's maps lose.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Read calls each for every field of an object, in order. null has none.
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

// Write makes an object of items; field gives an item's name and value.
func Write[T any](items []T, field func(T) (name string, value any)) ([]byte, error) {
	object := []byte{'{'}
	for i, item := range items {
		name, value := field(item)
		key, _ := json.Marshal(name) // every text can be written
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
