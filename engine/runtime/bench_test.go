package runtime_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/internal/testkit"
)

const echoCode = "@expose\ndef echo(x): return x\n"

var kibibyte = []any{strings.Repeat("x", 1000)}

// BenchmarkRawPingPong is the floor: a kibibyte there and back over a Unix
// socket, both ends in Go.
func BenchmarkRawPingPong(b *testing.B) {
	echo := func(conn net.Conn) { _, _ = io.Copy(struct{ io.Writer }{conn}, conn) }
	l := testkit.Serve(testkit.UnixSocket(b), echo)
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	testkit.PingPong(b, conn, 1024)
}

// BenchmarkHandedOverCall is a call on a connection of its own to the worker.
func BenchmarkHandedOverCall(b *testing.B) {
	m := upReal(b)
	m.mustServe("tools", echoCode)
	callHandedOver(b, m)
}

// BenchmarkProxiedCall is a call by HTTP through the runtime.
func BenchmarkProxiedCall(b *testing.B) {
	m := upReal(b)
	m.mustServe("tools", echoCode)
	callByHTTP(b, m)
}

// BenchmarkLinkedCall is the same through a link, over loopback.
func BenchmarkLinkedCall(b *testing.B) {
	m := upLinked(b)
	callByHTTP(b, m)
}

// BenchmarkLinkedHandedOverCall is a call on a connection of its own to the worker,
// through a link.
func BenchmarkLinkedHandedOverCall(b *testing.B) {
	m := upLinked(b)
	callHandedOver(b, m)
}

func callHandedOver(b *testing.B, m *machine) {
	b.Helper()
	ctx := context.Background()
	conn, err := m.client.Calls().Connect(ctx, "tools")
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	for b.Loop() {
		if _, err := conn.Call(ctx, "echo", kibibyte, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func callByHTTP(b *testing.B, m *machine) {
	b.Helper()
	ctx := context.Background()
	for b.Loop() {
		if _, err := m.client.Calls().Call(ctx, "tools", "echo", kibibyte, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func upLinked(b *testing.B) *machine {
	b.Helper()
	m := startIn(b, nil, func(m *machine) {
		m.boot.Listen = "tcp:127.0.0.1:" + freePort(b)
		m.env = append(m.env, realWorkerVariable+"=1")
	})
	m.push()
	m.mustServe("tools", echoCode)
	return m
}

// BenchmarkRun is a whole command with its output.
func BenchmarkRun(b *testing.B) {
	m := up(b, nil)
	for b.Loop() {
		if _, err := m.client.Processes().Run(context.Background(), protocol.ProcessSpec{Argv: []string{"true"}}, nil, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWarmBoot is from the start of the loader to the runtime's first
// answer, with the runtime in the cache.
func BenchmarkWarmBoot(b *testing.B) {
	first := up(b, nil)
	for b.Loop() {
		m := up(b, func(boot *loader.Boot) { boot.Cache = first.boot.Cache })
		b.StopTimer()
		m.end()
		b.StartTimer()
	}
}
