// Command hub-clients runs a fake Hub until its standard input ends. It writes the files that
// clients have to find there into the folder of its argument, by repository. It prints the
// variables that make clients use it, one NAME=VALUE a line, then an empty line. Each line of the
// input is a file, into which it writes how many bytes of files it has sent so far. At its end it
// prints what reached each host, and fails if a user's token reached another one than the API.
//
// HUB_ADDRESS is an address of this computer at which clients reach it, other than the loopback;
// it need not meet the faults and all hosts then.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/e2e/fakes"
	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

func main() { fakes.Main("hub-clients", run) }

func run(dir string) error {
	hub, err := fakehub.New(fakehub.Options{
		Repos: repos(), PageSize: 4, XorbSize: 4 << 20,
		Users: map[string]string{"hf_alice": "alice", "hf_bob": "bob"}, Via: via(os.Getenv(addressVariable)),
	})
	if err != nil {
		return err
	}
	defer hub.Close()
	if err := hub.Rename("org/old", "org/new"); err != nil {
		return err
	}
	for _, f := range faults() {
		hub.Inject(f)
	}
	for _, r := range repos() {
		if err := write(filepath.Join(dir, strings.ReplaceAll(r.ID, "/", "--")), r); err != nil {
			return err
		}
	}
	env := hub.Env()
	env["HUB_COMMIT"], env["HUB_FIRST_COMMIT"] = hub.Commit("org/model", "main"), hub.Commit("org/model", "v1")
	fakes.PrintEnv(env)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := tell(in.Text(), hub); err != nil {
			return err
		}
	}
	requests := hub.Requests()
	elsewhere := os.Getenv(addressVariable) != ""
	limited := slices.ContainsFunc(requests, func(q fakehub.Request) bool { return q.Status == http.StatusTooManyRequests })
	resumed := slices.ContainsFunc(requests, func(q fakehub.Request) bool { return q.Call == fakehub.Blob && q.Bytes == faulty.Size()-100_000 })
	if !elsewhere && (!limited || !resumed) {
		return fmt.Errorf("limited: %t, resumed: %t", limited, resumed)
	}
	for _, host := range []fakehub.Host{fakehub.API, fakehub.CDN, fakehub.XetStorage} {
		c := hub.Count(host)
		fmt.Printf("# %s: %d requests, %d bytes, %d tokens of users\n", host, c.Requests, c.Bytes, c.HubTokens)
		if host != fakehub.API && (c.Requests == 0 && !elsewhere || c.HubTokens > 0) {
			return fmt.Errorf("host %s: %+v", host, c)
		}
	}
	return nil
}

const addressVariable = "HUB_ADDRESS"

// via has clients reach the hub at an address; "" = at the loopback.
func via(address string) func(string) (string, error) {
	if address == "" {
		return nil
	}
	return func(target string) (string, error) {
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			return "", err
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go carry(c, target)
			}
		}()
		return l.Addr().String(), nil
	}
}

// carry connects a client with the hub until both have ended.
func carry(c net.Conn, target string) {
	defer c.Close()
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, c)
		_ = to.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(c, to)
}

// tell writes how many bytes of files were sent, in one step.
func tell(path string, hub *fakehub.Hub) error {
	content := []fakehub.Call{fakehub.Resolve, fakehub.ResolveCache, fakehub.Blob, fakehub.Xorb}
	sent := int64(0)
	for _, q := range hub.Requests() {
		if q.Method == http.MethodGet && q.Status/100 == 2 && slices.Contains(content, q.Call) {
			sent += q.Bytes
		}
	}
	if err := os.WriteFile(path+".new", fmt.Appendln(nil, sent), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func write(dir string, r fakehub.Repo) error {
	for name, f := range r.Commits[len(r.Commits)-1].Files {
		at := filepath.Join(dir, name)
		if f.Content == nil {
			f.Content = fakehub.Text("")
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		data := make([]byte, f.Content.Size())
		if n, err := f.Content.ReadAt(data, 0); n < len(data) {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if err := os.WriteFile(at, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

var faulty = fakehub.Random(300_000, 9)

// faults hit the first client that fetches org/faulty. It tries again, and goes on after what
// it has.
func faults() []fakehub.Fault {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(faulty, 0, faulty.Size())); err != nil {
		panic(err) // it can be read
	}
	blob := "/blobs/" + hex.EncodeToString(sum.Sum(nil))
	return []fakehub.Fault{
		{Call: fakehub.Tree, Path: "/api/models/org/faulty/tree/*", Times: 1, Status: http.StatusTooManyRequests},
		{Call: fakehub.Blob, Path: blob, Times: 1, Cut: true, After: 100_000},
	}
}

func repos() []fakehub.Repo {
	config := fakehub.File{Content: fakehub.Text(`{"model_type": "gpt2"}`)}
	small := []fakehub.Commit{{Files: map[string]fakehub.File{
		"config.json": config, "model.bin": {Content: fakehub.Random(100_000, 1), Kind: fakehub.LFS},
	}}}
	model := map[string]fakehub.File{
		".gitattributes":       {Content: fakehub.Text("*.bin filter=lfs\n")},
		"README.md":            {Content: fakehub.Text("# A model\n")},
		"config.json":          config,
		"onnx/deep/a b ü.json": {Content: fakehub.Text("[]")},
		"model.safetensors":    {Content: fakehub.Random(20_000_000, 7), Kind: fakehub.Xet},
		"floats.safetensors":   {Content: floats(6 << 20), Kind: fakehub.Xet},
		"again.safetensors":    {Content: again(), Kind: fakehub.Xet},
		"tiny.safetensors":     {Content: fakehub.Text("x"), Kind: fakehub.Xet},
		"pytorch_model.bin":    {Content: fakehub.Random(3_000_001, 2), Kind: fakehub.LFS},
	}
	return []fakehub.Repo{
		{
			ID: "org/model", Tags: map[string]int{"v1": 0}, Pulls: map[int]int{1: 0},
			Commits: []fakehub.Commit{{Files: map[string]fakehub.File{"config.json": {Content: fakehub.Text("{}")}}}, {Title: "Weights", Files: model}},
		},
		{ID: "org/old", Commits: small},
		{ID: "org/gated", Gated: "manual", Readers: []string{"alice"}, Commits: small},
		{ID: "org/private", Private: true, Readers: []string{"alice"}, Commits: small},
		{ID: "org/disabled", Disabled: true, Commits: small},
		{ID: "legacy", Commits: small},
		{ID: "org/faulty", Commits: []fakehub.Commit{{Files: map[string]fakehub.File{"model.bin": {Content: faulty, Kind: fakehub.LFS}}}}},
		{ID: "org/data", Type: fakehub.Dataset, Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
			"empty.txt": {}, "train/data.parquet": {Content: fakehub.Random(200_000, 4), Kind: fakehub.Xet}, // the JavaScript client cannot fetch an empty file
		}}}},
	}
}

// floats are numbers of four bytes whose upper bytes compress.
func floats(n int) fakehub.Content {
	b := make([]byte, n)
	if _, err := fakehub.Random(int64(n), 3).ReadAt(b, 0); err != nil {
		panic(err) // it holds n bytes
	}
	for i := 0; i+3 < n; i += 4 {
		b[i+2], b[i+3] = byte(i>>16), 0x3f
	}
	return fakehub.Bytes(b)
}

// again has parts of another file, in another order, so that its terms share xorbs with it.
func again() fakehub.Content {
	var b []byte
	whole := make([]byte, 20_000_000)
	if _, err := fakehub.Random(20_000_000, 7).ReadAt(whole, 0); err != nil {
		panic(err) // it holds as many bytes
	}
	b = append(b, whole[15_000_000:16_000_000]...)
	b = append(b, whole[1_000_000:1_600_000]...)
	b = append(b, "an addition"...)
	b = append(b, whole[2_500_000:3_200_000]...)
	b = append(b, whole[15_500_000:16_000_000]...)
	return fakehub.Bytes(b)
}
