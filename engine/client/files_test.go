package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Whoever stops a copy of what comes slowly, such as standard input, need not wait for it.
func TestWriteFileEndsWhileItsSourceIsSilent(t *testing.T) {
	got := make(chan string, 1)
	c := hostile(t, func(_ http.ResponseWriter, r *http.Request) {
		first := make([]byte, 5)
		_, err := io.ReadFull(r.Body, first)
		got <- string(first)
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err == nil {
			t.Error("a part was taken for the whole")
		}
	})
	source, feed := io.Pipe()
	defer feed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Files().Write(ctx, "x", source, 0o644) }()
	if _, err := io.WriteString(feed, "first"); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "first" {
		t.Errorf("%q", text)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// What a source says in the end is the error, and the end alone is none.
func TestWriteFilePassesTheSourcesError(t *testing.T) {
	c := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		if data, err := io.ReadAll(r.Body); err == nil && string(data) == "whole" {
			_, _ = io.WriteString(w, "{}")
		}
	})
	if err := c.Files().Write(t.Context(), "x", io.MultiReader(strings.NewReader("wh"), strings.NewReader("ole")), 0o644); err != nil {
		t.Error(err)
	}
	broken := errors.New("the disk is on fire")
	source, feed := io.Pipe()
	feed.CloseWithError(broken)
	if err := c.Files().Write(t.Context(), "x", source, 0o644); !errors.Is(err, broken) || strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
}
