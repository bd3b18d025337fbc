package acceptance

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
)

// cutter is a socket in front of another, which holds connections up and cuts them
// at any byte.
type cutter struct {
	to       string
	endpoint string
	proxied  string // the endpoint of a proxy beside it
	life     int    // bytes that a connection lives, about; 0 = for ever
	mu       sync.Mutex
	conns    map[net.Conn]bool
}

func newCutter(t *testing.T, socket, to string, life int) *cutter {
	t.Helper()
	c := &cutter{to: to, life: life, conns: map[net.Conn]bool{}}
	testkit.Serve(testkit.Listen(t, "unix", socket), c.join)
	t.Cleanup(c.cut)
	return c
}

// cut ends every connection now.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		conn.Close()
	}
}

func (c *cutter) join(near net.Conn) {
	far, err := net.Dial("unix", c.to)
	if err != nil {
		return
	}
	defer far.Close()
	c.mu.Lock()
	c.conns[near], c.conns[far] = true, true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.conns, near)
		delete(c.conns, far)
		c.mu.Unlock()
	}()
	var wg sync.WaitGroup
	pass := func(to, from net.Conn) {
		defer near.Close()
		defer far.Close()
		var in io.Reader = from
		if c.life > 0 {
			in = io.LimitReader(from, int64(rand.ExpFloat64()*float64(c.life)))
		}
		buf := make([]byte, 1+rand.IntN(4096))
		_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{in}, buf)
	}
	wg.Go(func() { pass(far, near) })
	wg.Go(func() { pass(near, far) })
	wg.Wait()
}

// stormClient makes calls of every kind from threads, and says how each of them ended.
const stormClient = `
import threading
me, threads, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
lock = threading.Lock()
kinds = [
    lambda name, i: tools.add(name, i) == i + 1,
    lambda name, i: tools.beside(name, i) == i + 1,
    lambda name, i: tools.add(name, i) == i + 1,
    lambda name, i: list(tools.count(name, 3)) == [0, 1, 2],
    lambda name, i: list(tools.array(name, 1000)) == list(range(1000)),
    lambda name, i: tools.add.submit(name, i).result() == i + 1,
    lambda name, i: tools.count.submit(name, 4).result() == [0, 1, 2, 3],
]

def say(outcome, name, detail=""):
    with lock:
        print("\n" + outcome, name, str(detail).replace("\n", " "), flush=True)

def work(n):
    for i in range(count):
        name = "%s-%d-%d" % (me, n, i)
        try:
            say("ok" if kinds[i % len(kinds)](name, i) else "wrong", name)
        except Exception as e:
            say(type(e).__name__, name, e)

all = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
[t.start() for t in all]
[t.join() for t in all]
print("\nend", flush=True)
`

// TestStormOfCalls: many clients, and everything between them and the function fails
// again and again. No call runs twice, none is lost, and each is answered or interrupted.
func TestStormOfCalls(t *testing.T) {
	t.Parallel()
	programs, threads, count, pause := 5, 8, 40, 2*time.Second
	if os.Getenv("SEER_SOAK") != "" {
		programs, threads, count, pause = 10, 10, 100, time.Minute
	}
	p := newPlace(t)
	p.serveTools("bubblewrap")
	if err := os.CopyFS(p.path("http"), os.DirFS(p.path("out"))); err != nil {
		t.Fatal(err)
	}
	var proxy *badProxy
	front := p.detour("out/tools/connection.json", 6000)
	proxy, front.proxied = newBadProxy(t, front.to, time.Second, 5*time.Second)
	proxy.duplicates, proxy.pause = true, os.Getenv("SEER_SOAK") != ""
	p.write("http/tools/connection.json", strings.Replace(p.read("out/tools/connection.json"), front.endpoint, front.proxied, 1))

	var jobs []*job
	begin := func(name, folder string) *job {
		cmd := p.command("/usr/bin/python3", "-B", "-c", "import sys, tools\n"+stormClient, name, fmt.Sprint(threads), fmt.Sprint(count))
		cmd.Env = append(cmd.Env, "PYTHONPATH="+p.path(folder))
		return p.start(cmd)
	}
	for i := range programs {
		jobs = append(jobs, begin(fmt.Sprint("p", i), []string{"out", "http"}[i%2]))
	}
	killed := begin("killed", "out")
	p.trouble(jobs, killed, front, pause)

	outcomes := map[string]string{}
	for _, j := range jobs {
		r := j.wait()
		if r.code != 0 || !strings.HasSuffix(strings.TrimSpace(r.out), "end") {
			t.Fatalf("a client ended with %d: %s %s", r.code, clip(r.out), clip(r.err))
		}
		for _, line := range strings.Split(strings.TrimSpace(r.out), "\n") {
			if outcome, rest, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "line ") {
				name, detail, _ := strings.Cut(rest, " ")
				outcomes[name] = outcome
				if outcome != "ok" && outcome != "Interrupted" {
					t.Errorf("%s ended as %s: %s", name, outcome, detail)
				}
			}
		}
	}
	if want := programs * threads * count; len(outcomes) != want {
		t.Errorf("%d of %d calls have an outcome", len(outcomes), want)
	}
	p.judge(outcomes)
	t.Logf("through the proxy, %d requests were cut and %d sent twice", proxy.cuts.Load(), proxy.doubled.Load())
}

// detour leads a connection file over a cutter.
func (p *place) detour(file string, life int) *cutter {
	p.t.Helper()
	var connection map[string]any
	if err := json.Unmarshal([]byte(p.read(file)), &connection); err != nil {
		p.t.Fatal(err)
	}
	socket := filepath.Join(p.base, "cutter")
	c := newCutter(p.t, socket, strings.TrimPrefix(connection["endpoint"].(string), "unix:"), life)
	c.endpoint = "unix:" + socket
	connection["endpoint"] = c.endpoint
	data, err := json.Marshal(connection)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(file, string(data))
	return c
}

// trouble kills, stops and cuts until the clients have ended.
func (p *place) trouble(jobs []*job, client *job, front *cutter, pause time.Duration) {
	over := func() bool {
		for _, j := range jobs {
			if !j.over() {
				return false
			}
		}
		return true
	}
	killed := time.Time{}
	for round := 0; !over(); round++ {
		time.Sleep(time.Duration(300+rand.IntN(700)) * time.Millisecond)
		machine := p.machine("lab")
		switch {
		case round == 2 || round == 7: // more than three in ten minutes, and it stays dead
			kill(machine["worker"])
		case round%4 == 0 && time.Since(killed) > 15*time.Second: // the loader starts five in a minute
			kill(machine["runtime"])
			killed = time.Now()
		case round%4 == 1:
			front.cut()
		case round%4 == 2:
			client.signal(syscall.SIGKILL)
		case round%8 == 3 && os.Getenv("SEER_SOAK") == "serve": // another generation beside the one that has calls
			if r := p.seer("serve", "lab", "iface.py", "--name", "tools", "--out", "again").wait(); r.code != 0 {
				p.t.Errorf("%s\nended with %d: %s", r.line, r.code, r.err)
			}
		default:
			for _, role := range machine {
				for _, one := range role {
					_ = syscall.Kill(one.pid, syscall.SIGSTOP)
				}
			}
			time.Sleep(pause)
			pause = min(pause, 2*time.Second)
			for _, role := range machine {
				for _, one := range role {
					_ = syscall.Kill(one.pid, syscall.SIGCONT)
				}
			}
		}
	}
}

// judge compares what the clients were told with what has run.
func (p *place) judge(outcomes map[string]string) {
	p.t.Helper()
	ran := map[string]int{}
	for _, name := range strings.Fields(p.ok("exec", "lab", "--", "cat", "ran")) {
		ran[name]++
	}
	interrupted := 0
	for name, n := range ran {
		if n > 1 {
			p.t.Errorf("%s ran %d times", name, n)
		}
	}
	for name, outcome := range outcomes {
		switch {
		case outcome == "ok" && ran[name] != 1:
			p.t.Errorf("%s was answered and ran %d times", name, ran[name])
		case outcome == "Interrupted":
			interrupted++
		}
	}
	p.t.Logf("%d calls answered, %d interrupted, %d runs", len(outcomes)-interrupted, interrupted, len(ran))
}
