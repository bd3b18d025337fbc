package acceptance

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// wire is what lies between a client and a sandbox: it passes bytes on, and cuts the
// connection that comes next after so many of them.
type wire struct {
	listener net.Listener
	to       string
	wg       sync.WaitGroup
	mu       sync.Mutex
	limits   *[2]int // of the next connection: up and down; -1 = none
	fired    bool
}

// lay makes a wire to a Unix socket, and tells its endpoint.
func lay(t *testing.T, network, address, to string) (*wire, string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, to: to}
	w.wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			w.wg.Go(func() { w.join(near) })
		}
	})
	t.Cleanup(func() { l.Close() })
	if network == "tcp" {
		return w, "http://" + l.Addr().String()
	}
	return w, "unix:" + address
}

// arm says where the next connection is to be cut.
func (w *wire) arm(way, bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	limits := [2]int{-1, -1}
	limits[way] = bytes
	w.limits, w.fired = &limits, false
}

// cut reports whether it has been.
func (w *wire) cut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fired
}

func (w *wire) join(near net.Conn) {
	defer near.Close()
	w.mu.Lock()
	limits := [2]int{-1, -1}
	if w.limits != nil {
		limits, w.limits = *w.limits, nil
	}
	w.mu.Unlock()
	far, err := net.Dial("unix", w.to)
	if err != nil {
		return
	}
	defer far.Close()
	var wg sync.WaitGroup
	pass := func(to, from net.Conn, limit int) {
		defer near.Close()
		defer far.Close()
		if limit < 0 {
			_, _ = io.Copy(to, from)
			return
		}
		if n, _ := io.CopyN(to, from, int64(limit)); n == int64(limit) {
			w.mu.Lock()
			w.fired = true
			w.mu.Unlock()
		}
	}
	wg.Go(func() { pass(far, near, limits[0]) })
	wg.Go(func() { pass(near, far, limits[1]) })
	wg.Wait()
}

// cutClient makes a call on a new connection for each line that it reads.
const cutClient = `
kinds = {
    "small": lambda name: tools.add(name, 41) == 42,
    "stream": lambda name: list(tools.count(name, 3)) == [0, 1, 2],
    "array": lambda name: list(tools.array(name, 50)) == list(range(50)),
}
for line in sys.stdin:
    kind, name = line.split()
    tools._library.client.close()
    try:
        print(kinds[kind](name), flush=True)
    except Exception as e:
        print(type(e).__name__, e, flush=True)
`

// TestCallsAreCutAtEveryByte on the way to the sandbox and on the way back, on a
// socket and over HTTP: each has its one right answer.
func TestCallsAreCutAtEveryByte(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serveTools("bubblewrap")
	some := 12
	if soaking() {
		some = 1000
	}
	original := p.read("out/tools/connection.json")
	endpoint := strings.Split(strings.Split(original, `"endpoint": "`)[1], `"`)[0]
	var mu sync.Mutex
	var names []string
	var wg sync.WaitGroup // not parallel tests: these take little time of the processors
	for _, network := range []string{"unix", "tcp"} {
		for _, kind := range []string{"small", "stream", "array"} {
			folder := network + " " + kind
			address := "127.0.0.1:0"
			if network == "unix" {
				address = filepath.Join(p.base, folder)
			}
			w, to := lay(t, network, address, strings.TrimPrefix(endpoint, "unix:"))
			if err := os.CopyFS(p.path(folder), os.DirFS(p.path("out"))); err != nil {
				t.Fatal(err)
			}
			p.write(folder+"/tools/connection.json", strings.Replace(original, endpoint, to, 1))
			wg.Go(func() {
				t.Run(folder, func(t *testing.T) {
					made := p.cutEverywhere(t, w, folder, kind)
					if kind == "small" {
						made = append(made, p.cutPrograms(t, w, folder, some)...)
					}
					mu.Lock()
					defer mu.Unlock()
					names = append(names, made...)
				})
			})
		}
	}
	wg.Wait()
	p.once(names...)
	t.Logf("%d calls were cut", len(names))
}

// cutPrograms has the program make calls that are cut at some of their bytes.
func (p *place) cutPrograms(t *testing.T, w *wire, folder string, most int) (names []string) {
	for n := range most {
		way, at := n%2, rand.IntN(900)
		name := fmt.Sprintf("seer-%s-%d", strings.ReplaceAll(folder, " ", "-"), n)
		w.arm(way, at)
		r := p.seer("call", "--connection", folder+"/tools/connection.json", "add", "name="+name, "x=41").wait()
		if r.code != 0 || strings.TrimSpace(r.out) != "42" {
			t.Errorf("cut at byte %d of way %d: %d %s %s", at, way, r.code, r.out, r.err)
		}
		names = append(names, name)
	}
	return names
}

// cutEverywhere makes a call for each byte of it, cut there.
func (p *place) cutEverywhere(t *testing.T, w *wire, folder, kind string) (names []string) {
	cmd := p.command("/usr/bin/python3", "-B", "-c", "import sys, tools\n"+cutClient)
	cmd.Env = append(cmd.Env, "PYTHONPATH="+p.path(folder))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.start(cmd)
	answers := bufio.NewScanner(out)
	for way, word := range []string{"up", "down"} {
		for at := 0; ; at += stride(kind) {
			name := fmt.Sprintf("%s-%s-%d", strings.ReplaceAll(folder, " ", "-"), word, at)
			w.arm(way, at)
			fmt.Fprintln(in, kind, name)
			answers.Scan()
			if got := lastLine(answers, kind); got != "True" {
				t.Errorf("%s: %q %v", name, got, answers.Err())
				return names
			}
			names = append(names, name)
			if !w.cut() {
				break
			}
		}
	}
	return names
}

// stride is how far the next cut is: everywhere in a small call, and in the others under
// SEER_SOAK=1, otherwise at bytes by chance.
func stride(kind string) int {
	if kind == "small" || soaking() {
		return 1
	}
	return 1 + rand.IntN(9)
}

// lastLine passes over what the function has printed.
func lastLine(s *bufio.Scanner, kind string) string {
	if kind == "stream" {
		for range 3 {
			if !strings.HasPrefix(s.Text(), "line ") {
				return s.Text()
			}
			s.Scan()
		}
	}
	return s.Text()
}
