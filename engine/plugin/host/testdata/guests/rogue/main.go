// Command rogue does what a plugin must not do.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	pdk "github.com/extism/go-pdk"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest"
)

var kept [][]byte

//go:wasmexport expose
func expose() int32 {
	var req sdk.ExposeRequest
	if err := pdk.InputJSON(&req); err != nil {
		panic(err)
	}
	switch what := strings.TrimSpace(string(req.Options)); what {
	case `"panic"`:
		panic("boom, and a secret: hunter2")
	case `"endless"`:
		for {
		}
	case `"sleep"`:
		time.Sleep(time.Hour)
	case `"memory"`:
		for {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			kept = append(kept, b)
		}
	case `"exit"`:
		os.Exit(3)
	case `"exit quietly"`:
		pdk.OutputString(`{"ok":{"prompt":"bye"}}`)
		os.Exit(0)
	case `"nothing"`:
	case `"no json"`:
		pdk.OutputString("hello")
	case `"both"`:
		pdk.OutputString(`{"ok":{},"error":{"code":"invalid","message":"x"}}`)
	case `"wrong type"`:
		pdk.OutputString(`{"ok":{"files":"none"}}`)
	case `"odd code"`:
		pdk.OutputString(`{"error":{"code":"teapot","message":"short and hunter2"}}`)
	case `"huge"`:
		pdk.OutputString(`{"ok":{"prompt":"` + strings.Repeat("x", 3<<20) + `"}}`)
	case `"chatter"`:
		for i := range 5000 {
			fmt.Println("line", i, "hunter2")
			guest.Warnf("warning %d", i)
		}
		pdk.OutputString(`{"ok":{"prompt":"done"}}`)
	case `"http"`:
		pdk.NewHTTPRequest(pdk.MethodGet, "http://127.0.0.1:1/").Send()
	case `"var"`:
		pdk.SetVar("a", []byte("b"))
	case `"wait for the end"`, `"wait and fail"`, `"wait and ignore"`:
		waitForEnd(what)
	case `"send"`:
		send()
	case `"look around"`:
		look()
	default:
		if strings.HasPrefix(what, "{") { // a surface
			pdk.OutputString(`{"ok":` + what + `}`)
			break
		}
		pdk.OutputString(`{"ok":{"prompt":` + string(req.Options) + `}}`)
	}
	return 0
}

//go:wasmimport extism:host/user stream_wait
func streamWait(ms int64) uint64

//go:wasmimport extism:host/user http_open
func httpOpen(offset uint64) uint64

//go:wasmimport extism:host/user stream_send
func streamSend(stream, block int64, flags int32) int32

//go:wasmimport extism:host/user stream_credit
func streamCredit(stream, bytes int64)

// waitForEnd waits for streams until the engine gives up.
func waitForEnd(what string) {
	for {
		offset := streamWait(1000)
		if offset == 0 || what == `"wait and ignore"` {
			continue
		}
		if strings.Contains(block(offset), `"k":"cancel"`) {
			break
		}
	}
	if what == `"wait and fail"` {
		pdk.OutputString(`{"error":{"code":"unavailable","message":"interrupted"}}`)
		return
	}
	pdk.OutputString(`{"ok":{"prompt":"rented before the end"}}`)
}

func block(offset uint64) string {
	m := pdk.FindMemory(offset)
	return string(m.ReadBytes())
}

// send tries what the manifest does not allow.
func send() {
	in := pdk.AllocateString(`{"method":"GET","url":"https://example.com/"}`)
	answer := block(httpOpen(in.Offset()))
	streamCredit(7, 1<<62)
	streamCredit(-7, -1)
	over := streamSend(7, 0, 4)
	inner, err := json.Marshal(fmt.Sprint(answer, over, streamWait(-5)))
	if err != nil {
		panic(err)
	}
	pdk.OutputString(`{"ok":{"prompt":` + string(inner) + `}}`)
}

// look reports what it can see of the world.
func look() {
	var r struct {
		Env      []string
		Root     string
		Dial     string
		Now      time.Time
		Random   string
		Slept    time.Duration
		TempFile string
	}
	r.Env = os.Environ()
	_, err := os.ReadDir("/")
	r.Root = text(err)
	_, err = net.Dial("tcp", "127.0.0.1:1")
	r.Dial = text(err)
	r.TempFile = text(os.WriteFile("/tmp/rogue", nil, 0o600))
	r.Now = time.Now()
	time.Sleep(5 * time.Millisecond)
	r.Slept = time.Since(r.Now)
	b := make([]byte, 8)
	rand.Read(b)
	r.Random = hex.EncodeToString(b)
	inner, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	outer, err := json.Marshal(map[string]any{"ok": map[string]string{"prompt": string(inner)}})
	if err != nil {
		panic(err)
	}
	pdk.Output(outer)
}

func text(err error) string {
	if err == nil {
		return "allowed"
	}
	return err.Error()
}

type fetcher struct{}

// Resolve tries to read what its name says and reports how that went.
func (fetcher) Resolve(_ context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	folder, path, _ := strings.Cut(ref.Name, ":")
	data, err := guest.OpenFolder(folder).ReadFile(path)
	var e *sdk.Error
	if errors.As(err, &e) {
		return sdk.ResolvedModel{}, e
	}
	return sdk.ResolvedModel{Revision: "r", Name: string(data)}, err
}

func (fetcher) Locate(context.Context, sdk.FileRef) (sdk.Location, error) {
	return sdk.Location{}, sdk.Errorf(sdk.Unsupported, "no")
}

//go:wasmexport fetcher_resolve
func resolve() int32 { return guest.FetcherResolve(fetcher{}) }

//go:wasmexport fetcher_locate
func locate() int32 { return guest.FetcherLocate(fetcher{}) }

func main() {}
