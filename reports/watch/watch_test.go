package watch

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"autotune/reports/webpage"
)

// get asks for a path, as a browser that came to a host.
func get(t *testing.T, s *Server, path, host string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func serve(t *testing.T, status *atomic.Value) *Server {
	t.Helper()
	s, err := Serve(func() webpage.Page {
		return webpage.Page{Title: "a title", Live: &webpage.Live{Status: status.Load().(string)}}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Only who knows the token and came to the number is let in.
func TestGuard(t *testing.T) {
	var status atomic.Value
	status.Store("begins")
	s := serve(t, &status)
	defer s.Close()
	query := "?token=" + s.token
	if !strings.HasPrefix(s.host, "127.0.0.1:") || s.Address() != "http://"+s.host+"/"+query || len(s.token) < 20 {
		t.Errorf("serves at %s", s.Address())
	}
	for _, c := range []struct {
		path, host string
		want       int
	}{
		{"/" + query, s.host, 200},
		{"/", s.host, 403},
		{"/?token=", s.host, 403},
		{"/?token=" + s.token[1:], s.host, 403},
		{"/events", s.host, 403},
		{"/" + query, "elsewhere.example", 403},
		{"/other" + query, s.host, 404},
	} {
		answer := get(t, s, c.path, c.host)
		text, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != c.want {
			t.Errorf("%s for %s: %d, want %d", c.path, c.host, answer.StatusCode, c.want)
		}
		if c.want == 200 && (!strings.Contains(string(text), `aria-live="polite">begins</p>`) || answer.Header.Get("Referrer-Policy") != "no-referrer") {
			t.Errorf("%s is not the page, or may be told of: %v", c.path, answer.Header)
		}
		if c.want != 200 && strings.Contains(string(text), s.token) {
			t.Errorf("%s tells the token", c.path)
		}
	}
}

// A browser hears of what changes, of the last state, and of the end.
func TestEvents(t *testing.T) {
	var status atomic.Value
	status.Store("1 of 2")
	s := serve(t, &status)
	answer := get(t, s, "/events?token="+s.token, s.host)
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	next := func() (event, told string) {
		for lines.Scan() && lines.Text() != "" {
			name, value, _ := strings.Cut(lines.Text(), ":")
			switch name {
			case "event":
				event = strings.TrimSpace(value)
			case "data":
				var part struct{ Status string }
				_ = json.Unmarshal([]byte(value), &part)
				told = part.Status
			}
		}
		return event, told
	}
	if event, told := next(); event != "part" || told != "1 of 2" {
		t.Errorf("first %s %q", event, told)
	}
	status.Store("2 of 2")
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	if event, told := next(); event != "part" || told != "2 of 2" {
		t.Errorf("then %s %q", event, told)
	}
	if event, _ := next(); event != "end" {
		t.Errorf("at last %s", event)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(s.Address()); err == nil {
		t.Error("it serves on")
	}
}
