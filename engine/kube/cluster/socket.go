package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	gorilla "github.com/gorilla/websocket"
	remote "k8s.io/apimachinery/pkg/util/remotecommand"

	"github.com/seer-engine/seer/internal/retry"
)

// Limits of a connection to a pod.
const (
	pingEvery  = 5 * time.Second
	silence    = 30 * time.Second // without an answer to a ping, a connection is dead
	lastWords  = 5 * time.Second  // from the status of a command to the end of the connection
	maxStatus  = 64 << 10         // bytes
	stdinBlock = 32 << 10         // bytes
)

// socket is a command over the protocol v5.channel.k8s.io. The executor of client-go takes a
// connection that ends without a status for success, and ends those whose command does not read
// for a minute; this one does neither.
type socket struct {
	conn   *gorilla.Conn
	s      Streams
	status bytes.Buffer
}

func newSocket(conn *gorilla.Conn, s Streams) *socket { return &socket{conn: conn, s: s} }

// run carries the streams until the command has ended, and returns its status.
func (k *socket) run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = k.conn.Close() })()
	k.conn.SetPongHandler(func(string) error { return k.conn.SetReadDeadline(time.Now().Add(silence)) })
	go k.ping(ctx)
	if k.s.Stdin != nil {
		go k.send()
	}
	for {
		ended, err := k.receive()
		switch {
		case ended && k.status.Len() > 0:
			return k.status.Bytes(), nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		}
	}
}

// receive takes one message. ended says that no other one comes.
func (k *socket) receive() (ended bool, err error) {
	patience := silence
	if k.status.Len() > 0 {
		patience = lastWords
	}
	// Set anew for each message: a slow reader of the output must not end the connection.
	if err := k.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return true, err
	}
	_, r, err := k.conn.NextReader()
	if err != nil {
		return true, err
	}
	channel := make([]byte, 1)
	if _, err := io.ReadFull(r, channel); err != nil {
		return true, fmt.Errorf("a message without a channel: %w", err)
	}
	var to io.Writer
	switch channel[0] {
	case remote.StreamStdOut:
		to = k.s.Stdout
	case remote.StreamStdErr:
		to = k.s.Stderr
	case remote.StreamErr:
		to = &k.status
		r = io.LimitReader(r, int64(maxStatus-k.status.Len()))
	default:
		to = io.Discard
	}
	if _, err := io.Copy(to, r); err != nil {
		return true, err
	}
	return false, nil
}

// send carries the standard input, and its end.
func (k *socket) send() {
	message := make([]byte, 1+stdinBlock)
	message[0] = remote.StreamStdIn
	for {
		n, err := k.s.Stdin.Read(message[1:])
		if n > 0 && k.conn.WriteMessage(gorilla.BinaryMessage, message[:1+n]) != nil {
			return // run learns it
		}
		if err != nil {
			_ = k.conn.WriteMessage(gorilla.BinaryMessage, []byte{remote.StreamClose, remote.StreamStdIn})
			return
		}
	}
}

// ping asks for signs of life.
func (k *socket) ping(ctx context.Context) {
	for retry.Sleep(ctx, pingEvery) == nil {
		err := k.conn.WriteControl(gorilla.PingMessage, nil, time.Now().Add(pingEvery))
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			// A command that does not read its input holds the line: that is no sign of death.
			_ = k.conn.SetReadDeadline(time.Now().Add(silence))
		}
	}
}
