package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// A value is JSON headed by the four bytes of its checksum.
const sumSize = 4

var sumTable = crc32.MakeTable(crc32.Castagnoli)

var errChecksum = errors.New("its checksum does not match: bytes have changed on the disk")

func encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	raw := binary.BigEndian.AppendUint32(make([]byte, 0, sumSize+len(body)), crc32.Checksum(body, sumTable))
	return append(raw, body...), nil
}

func decode(raw []byte, v any) error {
	if len(raw) < sumSize {
		return fmt.Errorf("it has %d bytes, fewer than a checksum", len(raw))
	}
	body := raw[sumSize:]
	if crc32.Checksum(body, sumTable) != binary.BigEndian.Uint32(raw) {
		return errChecksum
	}
	return json.Unmarshal(body, v)
}
