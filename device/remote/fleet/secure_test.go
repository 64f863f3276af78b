package fleet_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"autotune/device/remote/fleet"
	"autotune/internal/test/must"
	"autotune/tuner"
)

// The keys in this file are used only in tests.
const (
	workerSeed = "SUAI3VIJMOP6EZAN4LFIYJZGYAGGK3CW4F34YRR6KRLF36LABASTBXEDFE"
	workerUser = "UB3QXZTIJBTCZGL37OGHXRZJKNQZZ2BK5ZE4RG4C7ZSMLJRH6R5E3T3T"
	searchSeed = "SUAIWQF5L6MGFDGU6VTJSTQJKHTYHGY4QRJXZ7K4SCUKC6SJJLAVEBQOCQ"
	searchUser = "UDZR5AE7IAGYFVLJDBRPGHMYZK62U5EGKG54WEO3BLYKIM23G5VHOZW5"
)

// secured starts a server with a certificate from its own authority and with two users, as described in
// docs/distributed.md.
func secured(t *testing.T) (url, ca string) {
	t.Helper()
	certificate, ca := selfSigned(t)
	config := `
listen: "127.0.0.1:-1"
authorization { users = [
  { nkey: ` + workerUser + `, permissions: { publish: ["autotune.who", "_INBOX.>"], subscribe: ["autotune.who", "autotune.worker.*", "_INBOX.>"] } }
  { nkey: ` + searchUser + ` }
] }
`
	page := must.Read(t, "../../../docs/distributed.md")
	permissions := config[strings.Index(config, "permissions:"):strings.Index(config, " }\n  { nkey")]
	if !strings.Contains(string(page), permissions) {
		t.Error("docs/distributed.md does not have the permissions that are tested")
	}
	path := filepath.Join(t.TempDir(), "nats.conf")
	must.OK(t, os.WriteFile(path, []byte(config), 0o600))
	o, err := server.ProcessConfigFile(path)
	must.OK(t, err)
	o.NoLog, o.NoSigs, o.TLSConfig, o.TLS, o.TLSTimeout = true, true, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, true, 10
	s, err := server.NewServer(o)
	must.OK(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not come up")
	}
	return "tls://" + s.Addr().String(), ca
}

// selfSigned returns a self-signed certificate for this host, and a file with it as the certificate authority.
func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.OK(t, err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	raw, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	must.OK(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, secret(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})))
}

func secret(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	must.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// A search and a worker communicate through a server with TLS, as users with minimal permissions. Clients without
// credentials are rejected.
func TestSecuredServer(t *testing.T) {
	url, ca := secured(t)
	login := fleet.Login{URL: url, CA: ca, NKey: secret(t, searchSeed)}
	b, err := fleet.Connect(login, "search", quick)
	must.OK(t, err)
	asWorker := login
	asWorker.NKey = secret(t, workerSeed)
	w, err := fleet.Connect(asWorker, "worker", quick)
	must.OK(t, err)
	go func() { _ = fleet.Serve(t.Context(), w, &fakeGPU{}, fleet.WorkerOptions{Name: "a"}) }()
	p, err := fleet.Open(t.Context(), b, fleet.Options{})
	must.OK(t, err)
	defer p.Close()
	mustBeWhole(t, search(t, p, tuner.Options{Strategy: "random"}))

	other, otherCA := login, ""
	_, otherCA = selfSigned(t)
	for name, change := range map[string]func(*fleet.Login){
		"without a key":     func(l *fleet.Login) { l.NKey = "" },
		"of an unknown key": func(l *fleet.Login) { l.NKey = secret(t, strings.Replace(searchSeed, "SUAIWQF5", "SUAIWQF6", 1)) },
		"of another CA":     func(l *fleet.Login) { l.CA = otherCA },
		"without the CA":    func(l *fleet.Login) { l.CA = "" },
	} {
		other = login
		change(&other)
		if c, err := fleet.Connect(other, "stranger", quick); err == nil {
			c.Close()
			t.Errorf("a connection %s was let in", name)
		} else if strings.Contains(name, "CA") && !errors.Is(err, fleet.ErrServer) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Files with secrets must not be readable by others, and passwords are never sent unencrypted.
func TestSecretsAreKept(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	must.OK(t, os.WriteFile(open, []byte(searchSeed), 0o644))
	for want, l := range map[string]fleet.Login{
		"others here can read":        {URL: "nats://127.0.0.1:1", NKey: open},
		"chmod 600":                   {URL: "nats://127.0.0.1:1", Credentials: open},
		"no file of an nkey's seed":   {URL: "nats://127.0.0.1:1", NKey: secret(t, "nothing")},
		"password unencrypted":        {URL: "nats://me:secret@far.example:4222"},
		"parse root certificate":      {URL: "tls://127.0.0.1:1", CA: secret(t, "nothing")},
		"loading client certificate":  {URL: "tls://127.0.0.1:1", Cert: secret(t, "nothing")},
		"is no server's address":      {URL: "far.example"},
		"no servers available":        {URL: "nats://me:secret@127.0.0.1:1"},
		"nats://me:xxxxx@127.0.0.1:1": {URL: "nats://me:secret@127.0.0.1:1"},
	} {
		_, err := fleet.Connect(l, "stranger", quick)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("got %v, want words of %q", err, want)
		}
	}
}
