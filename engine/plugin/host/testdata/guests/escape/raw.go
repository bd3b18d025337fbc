package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	pdk "github.com/extism/go-pdk"

	"github.com/seer-engine/seer/sdk"
)

// What follows calls the host's functions without the SDK, which would not let it.

//go:wasmimport extism:host/user http_open
func httpOpen(offset int64) int64

//go:wasmimport extism:host/user grpc_open
func grpcOpen(offset int64) int64

//go:wasmimport extism:host/user settings
func hostSettings(offset int64) int64

//go:wasmimport extism:host/user folder_read
func folderRead(offset int64) int64

//go:wasmimport extism:host/user stream_wait
func streamWait(ms int64) int64

//go:wasmimport extism:host/user stream_send
func streamSend(stream, block int64, flags int32) int32

//go:wasmimport extism:host/user stream_credit
func streamCredit(stream, bytes int64)

//go:wasmimport extism:host/env store_u64
func storeU64(offset, value int64)

//go:wasmimport extism:host/env load_u64
func loadU64(offset int64) int64

//go:wasmimport extism:host/env output_set
func outputSet(offset, length int64)

func block(offset int64) []byte {
	m := pdk.FindMemory(uint64(offset))
	return m.ReadBytes()
}

// open begins a request and gives its stream.
func open(in sdk.HTTPOpen) (int64, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	m := pdk.AllocateBytes(raw)
	defer m.Free()
	var e sdk.Envelope
	if err := json.Unmarshal(block(httpOpen(int64(m.Offset()))), &e); err != nil {
		return 0, err
	}
	if e.Error != nil {
		return 0, e.Error
	}
	var opened sdk.Opened
	return opened.Stream, json.Unmarshal(e.OK, &opened)
}

// collect waits for a stream's end.
func collect(stream int64) (status int, body string, err error) {
	for {
		raw := block(streamWait(1000))
		for len(raw) >= 4 {
			var e sdk.Event
			n := binary.LittleEndian.Uint32(raw)
			if err := json.Unmarshal(raw[4:4+n], &e); err != nil {
				return 0, "", err
			}
			payload := raw[4+n:][:e.Size]
			raw = raw[4+int(n)+e.Size:]
			switch {
			case e.Kind == sdk.EventCancel:
				return 0, "", sdk.Errorf(sdk.Unavailable, "given up")
			case e.Stream != stream:
			case e.Kind == sdk.EventHead:
				status = e.Status
			case e.Kind == sdk.EventData:
				body += string(payload)
				streamCredit(stream, int64(e.Size))
			case e.Kind == sdk.EventEnd && e.Error != nil:
				return status, body, e.Error
			case e.Kind == sdk.EventEnd:
				return status, body, nil
			}
		}
	}
}

func get(o order) (any, error) {
	stream, err := open(sdk.HTTPOpen{Method: "GET", URL: o.URL})
	if err != nil {
		return nil, err
	}
	_, body, err := collect(stream)
	return body, err
}

// requests makes each, and tells how it ended: status and body, or code and message.
func requests(o order) (any, error) {
	var out []string
	for _, in := range o.Requests {
		stream, err := open(in)
		if err == nil {
			var status int
			var body string
			if status, body, err = collect(stream); err == nil {
				out = append(out, fmt.Sprint(status, " ", body))
				continue
			}
		}
		out = append(out, fmt.Sprintf("%s %v", sdk.CodeOf(err), err))
	}
	return out, nil
}

// offsets hands over blocks that are none. N says to which function.
func offsets(o order) (any, error) {
	for _, at := range o.Offsets {
		switch o.Text {
		case "http_open":
			httpOpen(at)
		case "grpc_open":
			grpcOpen(at)
		case "settings":
			hostSettings(at)
		case "folder_read":
			folderRead(at)
		case "stream_wait":
			streamWait(at)
		case "output":
			outputSet(at, o.N)
		case "send":
			stream, err := open(sdk.HTTPOpen{Method: "POST", URL: o.URL, Body: true})
			if err != nil {
				return nil, err
			}
			streamSend(stream, at, sdk.SendData|sdk.SendEnd)
		}
	}
	return "nothing happened", nil
}

// forge rewrites the length of a block where the ABI keeps it, and hands the block over.
func forge(o order) (any, error) {
	m := pdk.AllocateString("a block of a length of its own")
	at := int64(m.Offset())
	for back := int64(4); back <= 16; back += 4 { // wherever the lengths are kept
		storeU64(at-back, o.N)
	}
	httpOpen(at)
	return fmt.Sprint("nothing happened ", loadU64(at)), nil
}

// bigBlock asks the ABI for N MiB, which are not the guest's own memory.
func bigBlock(o order) (any, error) {
	for range o.N {
		m := pdk.Allocate(1 << 20)
		if m.Offset() == 0 {
			return nil, sdk.Errorf(sdk.Internal, "no block")
		}
	}
	return "has taken it", nil
}

// openMany opens N streams and leaves them open. It tells how many there are, and why
// there are not more.
func openMany(o order) (any, error) {
	var why error
	n := int64(0)
	for range o.N {
		if _, err := open(sdk.HTTPOpen{Method: "GET", URL: o.URL}); err == nil {
			n++
		} else {
			why = err
		}
	}
	return fmt.Sprintf("%d, then %s %v", n, sdk.CodeOf(why), why), nil
}

// churn opens N streams and gives each up.
func churn(o order) (any, error) {
	for range o.N {
		stream, err := open(sdk.HTTPOpen{Method: "GET", URL: o.URL})
		if err != nil {
			return nil, err
		}
		streamSend(stream, 0, sdk.SendCancel)
	}
	return "opened and closed", nil
}

// meddle tries all numbers of streams up to N, none of which is its own.
func meddle(o order) (any, error) {
	taken := 0
	for n := -2; int64(n) < o.N; n++ {
		stream := int64(n)
		streamCredit(stream, 1<<62)
		streamCredit(stream, -1<<63)
		for _, flags := range []int32{sdk.SendData, sdk.SendEnd, sdk.SendCancel, -1} {
			if streamSend(stream, 0, flags) != sdk.SendOver {
				taken++
			}
		}
	}
	return taken, nil
}

// glut allows the host to deliver all there is, and takes nothing of it.
func glut(o order) (any, error) {
	stream, err := open(sdk.HTTPOpen{Method: "GET", URL: o.URL})
	if err != nil {
		return nil, err
	}
	for _, n := range []int64{-1, -1 << 63, 1<<63 - 1, 1<<63 - 1, 1<<63 - 1, 0} {
		streamCredit(stream, n)
	}
	for end := time.Now().Add(time.Duration(o.N) * time.Millisecond); time.Now().Before(end); {
		sink++
	}
	return "looked away", nil
}
