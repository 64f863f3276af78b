package webpage

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"autotune/internal/test/testneeds"
)

// browser is Chromium without a screen, driven through a pair of pipes.
type browser struct {
	t       *testing.T
	to      io.Writer
	answers *bufio.Reader
	session string
	last    int
	said    []string // in the console
	loaded  bool
}

// message is one of the browser's protocol, to it or from it.
type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// browse starts a browser.
func browse(t *testing.T) *browser {
	t.Helper()
	testneeds.Browser.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "autotune-browser-")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, testneeds.Chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--remote-debugging-pipe", "--user-data-dir="+folder, "--window-size=1100,900", "about:blank")
	command.ExtraFiles = []*os.File{in, out}
	command.WaitDelay = 5 * time.Second
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	b := &browser{t: t, to: to, answers: bufio.NewReader(from)}
	t.Cleanup(func() {
		_, _ = io.WriteString(to, `{"id":1000000,"method":"Browser.close"}`+"\x00")
		to.Close()
		from.Close()
		cancel()
		_ = command.Wait()
		for range 50 { // some of its processes write there a little longer
			if os.RemoveAll(folder) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	var made struct{ TargetID, SessionID string }
	b.take(b.do("Target.createTarget", map[string]any{"url": "about:blank"}), &made)
	b.take(b.do("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}), &made)
	b.session = made.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.do(domain+".enable", nil)
	}
	return b
}

// open goes to a page in a file.
func (b *browser) open(path string) {
	b.t.Helper()
	b.visit("file://" + path)
}

func (b *browser) visit(address string) {
	b.t.Helper()
	b.loaded = false
	b.do("Page.navigate", map[string]any{"url": address})
	for !b.loaded {
		b.next()
	}
}

// do has the browser do something, and waits for its answer.
func (b *browser) do(method string, params any) json.RawMessage {
	b.t.Helper()
	b.last++
	text, err := json.Marshal(params)
	if err == nil {
		text, err = json.Marshal(message{ID: b.last, Method: method, Session: b.session, Params: text})
	}
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	if err != nil {
		b.t.Fatal(err)
	}
	for {
		if m := b.next(); m.ID == b.last {
			if m.Error != nil {
				b.t.Fatalf("%s: %s", method, m.Error)
			}
			return m.Result
		}
	}
}

// next reads a message, and takes note of what the console says.
func (b *browser) next() (m message) {
	b.t.Helper()
	text, err := b.answers.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(text[:len(text)-1], &m)
	}
	if err != nil {
		b.t.Fatalf("the browser is gone: %v", err)
	}
	switch m.Method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		b.said = append(b.said, string(m.Params))
	case "Page.loadEventFired":
		b.loaded = true
	}
	return m
}

func (b *browser) take(from json.RawMessage, into any) {
	b.t.Helper()
	if err := json.Unmarshal(from, into); err != nil {
		b.t.Fatal(err)
	}
}

// ask evaluates an expression in the page, and waits if it is a promise.
func (b *browser) ask(expression string) string {
	b.t.Helper()
	var answer struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		ExceptionDetails json.RawMessage `json:"exceptionDetails"`
	}
	b.take(b.do("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}), &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	return fmt.Sprint(answer.Result.Value)
}

// drawn has all charts drawn, those out of sight too.
func (b *browser) drawn() {
	b.t.Helper()
	b.ask(`dispatchEvent(new Event("beforeprint")); dispatchEvent(new Event("afterprint"))`)
}

// quiet fails the test if anything was said in the console.
func (b *browser) quiet() {
	b.t.Helper()
	if len(b.said) > 0 {
		b.t.Errorf("in the console: %s", strings.Join(b.said, "\n"))
	}
}
