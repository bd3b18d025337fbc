package portforward

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// TestCarry has all bytes go through, however often it is looked at.
func TestCarry(t *testing.T) {
	t.Parallel()
	for name, listen := range map[string]func() (net.Listener, error){
		"TCP":  func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
		"Unix": func() (net.Listener, error) { return net.Listen("unix", filepath.Join(t.TempDir(), "s")) },
	} {
		t.Run(name, func(t *testing.T) {
			from, in := connected(t, listen)
			out, to := connected(t, func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") })
			var passed atomic.Int64
			carried := make(chan error, 1)
			go func() {
				err := carry(to, from, time.Millisecond, func() { passed.Add(1) })
				to.Close()
				carried <- err
			}()
			time.Sleep(20 * time.Millisecond)
			if n := passed.Load(); n != 0 {
				t.Errorf("bytes have passed %d times before the first", n)
			}
			data := make([]byte, 8<<20)
			rand.Read(data)
			go func() {
				for i := 0; i < len(data); i += 1 << 20 {
					_, _ = in.Write(data[i : i+1<<20])
					time.Sleep(3 * time.Millisecond)
				}
				in.Close()
			}()
			got, err := io.ReadAll(out)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d of %d bytes, %v", len(got), len(data), err)
			}
			if err := <-carried; err != nil || passed.Load() == 0 {
				t.Errorf("%v, passed %d times", err, passed.Load())
			}
		})
	}
}

// connected is a connection: its two ends.
func connected(t *testing.T, listen func() (net.Listener, error)) (near, far net.Conn) {
	t.Helper()
	l, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if far, err = net.Dial(l.Addr().Network(), l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if near, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}
