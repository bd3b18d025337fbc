package forward_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/forward"
	"github.com/seer-engine/seer/engine/kube"
	"github.com/seer-engine/seer/internal/kubetest"
	"github.com/seer-engine/seer/internal/sshtest"
	"github.com/seer-engine/seer/internal/testkit"
)

// A port of a pod is carried, whatever is killed or away on the way, and stays the same.
func TestPortOfAPod(t *testing.T) {
	t.Parallel()
	s := kubetest.New(t)
	config := s.Kubeconfig("config", "", map[string]any{"lab": map[string]string{"token": kubetest.Token}})
	f := &forward.Forwarder{
		Dir: filepath.Join(s.Dir, "forward"), Artifacts: artifacts,
		Kube: kube.Options{Dir: filepath.Join(s.Dir, "k"), Artifacts: artifacts, StartTimeout: time.Minute},
	}
	l := testkit.Serve(testkit.Loopback(t), testkit.Echo)
	way := &forward.KubeRoute{Context: "lab", Namespace: "lab", Pod: "seer-one", Container: "seer", Kubeconfig: config}
	c := &carried{f: f, w: forward.Wanted{Port: 8717, Route: forward.Route{Kube: way}, Target: fmt.Sprint("tcp:", testkit.Port(l))}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the process:\n%s", testkit.ReadFile(t, filepath.Join(f.Dir, "log")))
		}
		if err := f.Remove(context.WithoutCancel(t.Context()), "one"); err != nil {
			t.Error(err)
		}
		sshtest.Gone(t, "forward\x00"+f.Dir)
		sshtest.Gone(t, s.Pod())
	})
	url := c.ensure(t, "one")
	if err := echoes(url, strings.Repeat("0123456789", 10000)); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if err := echoes(url, "hello"); err == nil {
		t.Error("echo while the API is away")
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err == nil {
		_ = conn.Close()
	} else if !errors.Is(err, syscall.ECONNRESET) { // which can come before the connection is seen to be open
		t.Errorf("the port is closed while the API is away: %v", err)
	}
	s.Start()
	again(t, url)
	c.kill(t)
	if now := c.ensure(t, "one"); now != url {
		t.Errorf("it was %s and is %s", url, now)
	}
	again(t, url)
	s.Remove()
	s.Cut()
	testkit.Eventually(t, "the end of the pod in the log", func() bool {
		_ = echoes(url, "hello")
		return strings.Contains(testkit.ReadFile(t, filepath.Join(f.Dir, "log")), `pods "seer-one" not found`)
	})
}
