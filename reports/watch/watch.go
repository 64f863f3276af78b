// Package watch serves a page of searches while they go on, on a port of this machine alone. A
// reader must know a token, which is in the address.
//
// The page is package webpage's. Its changes go to browsers as server-sent events.
package watch

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"autotune/reports/webpage"
)

// How often browsers are sent changes, how many there may be, and how long sending the last state
// may take.
const (
	every    = time.Second
	most     = 8
	lastWord = 2 * time.Second
)

// Server serves a page until it is closed.
type Server struct {
	page    func() webpage.Page
	token   string
	host    string
	http    http.Server
	ended   chan struct{}
	seats   chan struct{}
	serving sync.WaitGroup
}

// Serve begins to serve what page says at each moment. Several goroutines call it.
func Serve(page func() webpage.Page) (*Server, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve a page: %w", err)
	}
	s := &Server{page: page, token: rand.Text(), host: listener.Addr().String(), ended: make(chan struct{}), seats: make(chan struct{}, most)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.whole)
	mux.HandleFunc("GET /events", s.events)
	s.http = http.Server{Handler: s.guarded(mux), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	s.serving.Go(func() { _ = s.http.Serve(listener) }) // which ends when it is closed
	return s, nil
}

// Address is where the page is, with the token.
func (s *Server) Address() string { return "http://" + s.host + "/?token=" + s.token }

// Close sends browsers the last state, and ends.
func (s *Server) Close() error {
	close(s.ended)
	ctx, cancel := context.WithTimeout(context.Background(), lastWord)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.serving.Wait()
	return err
}

// guarded accepts requests with the token that address this machine by number. So a page of another
// site cannot read it, even through a host name that leads here.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.URL.Query().Get("token")
		if r.Host != s.host || subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) != 1 {
			http.Error(w, "the address lacks its token; autotune printed it", http.StatusForbidden)
			return
		}
		for name, value := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) whole(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := s.page().Write(w); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// events sends changes of the page, until the searches end or the browser disconnects.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.seats <- struct{}{}:
		defer func() { <-s.seats }()
	default:
		http.Error(w, "too many browsers follow already", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	var last []byte
	send := func() error {
		part, err := s.page().Part()
		if err != nil || bytes.Equal(part, last) {
			return err
		}
		last = part
		if _, err := fmt.Fprintf(w, "event: part\ndata: %s\n\n", part); err != nil {
			return err
		}
		return out.Flush()
	}
	for tick := time.NewTicker(every); ; {
		if send() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-s.ended:
			if send() == nil {
				_, _ = fmt.Fprint(w, "event: end\ndata:\n\n")
			}
			return
		}
	}
}
