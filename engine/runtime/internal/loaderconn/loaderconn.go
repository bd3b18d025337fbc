// Package loaderconn sends messages to the loader, which started the runtime and outlives it.
package loaderconn

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"time"
)

// Send sends a message that has no answer.
func Send(hand *os.File, message []byte) error {
	raw, err := hand.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) { sent = syscall.Sendto(int(fd), message, syscall.MSG_DONTWAIT, nil) })
	return errors.Join(err, sent)
}

// Ask sends a message to the loader, with a number, and waits for the answer with that number. An
// answer with another one is to a message whose sender has not waited for it.
func Ask(hand *os.File, message map[string]any, l *net.UnixListener) error {
	if hand == nil {
		return nil // there is no loader
	}
	conn, err := net.FileConn(hand)
	if err != nil {
		return fmt.Errorf("speak with the loader: %w", err)
	}
	defer conn.Close()
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("speak with the loader: it is not a Unix socket")
	}
	_ = u.SetDeadline(time.Now().Add(15 * time.Second))
	number := rand.Uint64()
	message["n"] = number
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if err := pass(u, data, l); err != nil {
		return fmt.Errorf("speak with the loader: %w", err)
	}
	return await(u, number)
}

// await reads the answer with a number. One without any is from a loader of before: a machine may
// be started by an older program than the one that brings the runtime.
func await(u *net.UnixConn, number uint64) error {
	data := make([]byte, 1024)
	for {
		n, err := u.Read(data)
		if err != nil {
			return fmt.Errorf("the loader did not answer: %w", err)
		}
		var answer struct {
			Number *uint64 `json:"n"`
			Error  string  `json:"error"`
		}
		if err := json.Unmarshal(data[:n], &answer); err != nil {
			return fmt.Errorf("understand the loader: %w", err)
		}
		switch {
		case answer.Number != nil && *answer.Number != number:
			continue
		case answer.Error != "":
			return errors.New(answer.Error)
		}
		return nil
	}
}

// pass sends a message, and a copy of the listener with it. The listener itself stays as it
// is: [net.UnixListener.File] would make it one that cannot be closed while it waits.
func pass(u *net.UnixConn, message []byte, l *net.UnixListener) error {
	if l == nil {
		_, err := u.Write(message)
		return err
	}
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) { _, _, sent = u.WriteMsgUnix(message, syscall.UnixRights(int(fd)), nil) })
	return errors.Join(err, sent)
}
