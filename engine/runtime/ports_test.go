package runtime_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestPorts(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	port := listenEcho(t, "127.0.0.1:0")
	t.Run("one end after the other", func(t *testing.T) {
		conn, err := m.client.DialPort(ctx, port)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "question"); err != nil {
			t.Fatal(err)
		}
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(conn); err != nil || string(answer) != "question" {
			t.Errorf("%q %v", answer, err)
		}
	})
	t.Run("who speaks first", func(t *testing.T) {
		port := testkit.Port(testkit.Serve(testkit.Loopback(t), testkit.Say("SSH-2.0-greeting\r\n")))
		for range 20 {
			conn, err := m.client.DialPort(ctx, port)
			if err != nil {
				t.Fatal(err)
			}
			if hello, err := io.ReadAll(conn); err != nil || string(hello) != "SSH-2.0-greeting\r\n" {
				t.Errorf("%q %v", hello, err)
			}
			conn.Close()
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		free := testkit.FreePort(t)
		_, err := m.client.DialPort(ctx, free)
		if protocol.CodeOf(err) != protocol.Unavailable || !strings.Contains(err.Error(), fmt.Sprint("the port ", free, " of the sandbox")) {
			t.Errorf("%v", err)
		}
		for _, none := range []int{0, -1, 65536} {
			if _, err := m.client.DialPort(ctx, none); protocol.CodeOf(err) != protocol.Invalid {
				t.Errorf("port %d: %v", none, err)
			}
		}
	})
	t.Run("only ::1", func(t *testing.T) {
		if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
			return // a computer without IPv6
		} else {
			l.Close()
		}
		// The machine tries 127.0.0.1 first, so nobody else may have this port there.
		checkEcho(t, m.client, listenEcho(t, "[::1]:"+freePort(t)), 1000)
	})
	t.Run("many at once", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { checkEcho(t, m.client, port, 100<<10) })
		}
		wg.Wait()
	})
	t.Run("given up", func(t *testing.T) {
		over, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := m.client.DialPort(over, port); err == nil {
			t.Error("it was connected")
		}
	})
	t.Run("a gigabyte", func(t *testing.T) { checkDownload(t, m.client, 1<<30) })
}

// checkEcho has bytes go through a port and come back, both at once.
func checkEcho(t *testing.T, c *client.Client, port, n int) {
	conn, err := c.DialPort(testContext(t), port)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(4 * time.Minute))
	data := noise(byte(n), n)
	go func() {
		_, _ = conn.Write(data)
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d of %d bytes came back, %v", len(got), n, err)
	}
}

// checkDownload reads n bytes from a port.
func checkDownload(t *testing.T, c *client.Client, n int64) {
	block := noise(7, 1<<20)
	l := testkit.Serve(testkit.Loopback(t), func(conn net.Conn) {
		for left := n; left > 0; left -= int64(len(block)) {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	})
	conn, err := c.DialPort(testContext(t), testkit.Port(l))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got := make([]byte, len(block))
	read := int64(0)
	for read < n {
		if _, err := io.ReadFull(conn, got); err != nil {
			t.Fatalf("after %d bytes: %v", read, err)
		}
		if read += int64(len(got)); !bytes.Equal(got, block) {
			t.Fatalf("other bytes before %d", read)
		}
	}
	if _, err := conn.Read(got); err != io.EOF {
		t.Errorf("behind the end: %v", err)
	}
}

// TestPortsAreCut has connections to ports live on while what is under them is cut.
func TestPortsAreCut(t *testing.T) {
	t.Parallel()
	m, cuts := upBehindCuts(t, 100*time.Millisecond, 300*time.Millisecond, false)
	port := listenEcho(t, "127.0.0.1:0")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { checkEcho(t, m.client, port, 8<<20) })
	}
	wg.Go(func() {
		conn, err := m.client.DialPort(testContext(t), port)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		sum, want := sha256.New(), sha256.New()
		for i := 0; i < 40 || cuts.cuts.Load() < 3; i++ {
			line := noise(byte(i), 100)
			want.Write(line)
			if _, err := conn.Write(line); err != nil {
				t.Error(err)
				return
			}
			if _, err := io.CopyN(sum, conn, 100); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(25 * time.Millisecond)
		}
		if !bytes.Equal(sum.Sum(nil), want.Sum(nil)) {
			t.Error("other bytes came back")
		}
	})
	wg.Wait()
}

// TestPortIsUse has an open connection to a port keep the machine.
func TestPortIsUse(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	conn, err := m.client.DialPort(ctx, listenEcho(t, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.client.PutLease(ctx, protocol.LeaseRequest{Kind: protocol.LeaseDetached, TTLSeconds: 600, IdleSeconds: 0.5}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if h, err := m.client.Health(ctx); err != nil || !h.Busy {
		t.Errorf("%+v %v", h, err)
	}
	conn.Close()
	if code := m.ended(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// BenchmarkPort reads from a port of the sandbox, straight and through a link, and from
// the same port without Seer.
func BenchmarkPort(b *testing.B) {
	block := make([]byte, 1<<20)
	l := testkit.Serve(testkit.Loopback(b), func(conn net.Conn) {
		for {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	})
	port := testkit.Port(l)
	read := func(b *testing.B, conn net.Conn, err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		buf := make([]byte, len(block))
		b.SetBytes(int64(len(buf)))
		for b.Loop() {
			if _, err := io.ReadFull(conn, buf); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("tcp", func(b *testing.B) {
		conn, err := net.Dial("tcp", l.Addr().String())
		read(b, conn, err)
	})
	b.Run("straight", func(b *testing.B) {
		m := up(b, nil)
		conn, err := m.client.DialPort(context.Background(), port)
		read(b, conn, err)
	})
	b.Run("link", func(b *testing.B) {
		m := upLinked(b)
		conn, err := m.client.DialPort(context.Background(), port)
		read(b, conn, err)
	})
}
