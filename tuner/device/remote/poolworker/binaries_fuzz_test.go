package poolworker

import (
	"testing"

	"github.com/nats-io/nats.go"
)

// What another worker says of a binary is read or refused.
func FuzzHeaders(f *testing.F) {
	f.Add(`{"a":"b"}`, `"a warning"`)
	f.Add(``, `[`)
	f.Fuzz(func(_ *testing.T, symbols, log string) {
		h := nats.Header{symbolsHeader: {symbols}, logHeader: {log}}
		_, _ = decodeHeader[map[string]string](h, symbolsHeader)
		_, _ = decodeHeader[string](h, logHeader)
	})
}
