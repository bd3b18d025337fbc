package resumable

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// ways are a link and, beside it, the bare TCP under it.
func ways(b *testing.B, handle func(net.Conn), run func(b *testing.B, c net.Conn)) {
	b.Run("tcp", func(b *testing.B) {
		l := testkit.Serve(testkit.Loopback(b), handle)
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		run(b, c)
	})
	b.Run("link", func(b *testing.B) {
		s := newServer(b, ServerOptions{}, handle)
		c, err := Dialer{URL: s.http.URL}.Dial(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		run(b, c)
	})
}

func BenchmarkPingPong(b *testing.B) {
	for _, size := range []int{100, 1024, 100 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			ways(b, echo, func(b *testing.B, c net.Conn) { testkit.PingPong(b, c, size) })
		})
	}
}

func BenchmarkUpload(b *testing.B) {
	sink := func(c net.Conn) { _, _ = io.Copy(io.Discard, struct{ io.Reader }{c}) }
	ways(b, sink, func(b *testing.B, c net.Conn) {
		buf := make([]byte, 1<<20)
		b.SetBytes(int64(len(buf)))
		for b.Loop() {
			if _, err := c.Write(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDownload(b *testing.B) {
	source := func(c net.Conn) {
		buf := make([]byte, 1<<20)
		for {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	}
	ways(b, source, func(b *testing.B, c net.Conn) {
		buf := make([]byte, 1<<20)
		b.SetBytes(int64(len(buf)))
		for b.Loop() {
			if _, err := io.ReadFull(c, buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}
