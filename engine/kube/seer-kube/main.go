// Command seer-kube reaches Kubernetes clusters for Seer, as OpenSSH's client reaches hosts. The
// engine starts it:
//
//	seer-kube proxy SOCKET
//	seer-kube exec [-mark TEXT] [-parent FD] CONTEXT NAMESPACE POD CONTAINER ARGV...
//
// proxy passes requests on to the clusters of the user's kubeconfig until its standard input ends.
// exec runs a command in a pod; it ends with the exit code of the command, or with 125 where the
// command did not run to its end.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	// A computer may have no certificates, and a kubeconfig may need none of its own.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/seer-engine/seer/engine/kube/cluster"
	"github.com/seer-engine/seer/engine/kube/kubewire"
	"github.com/seer-engine/seer/sdk"
)

func main() {
	cluster.Quiet()
	stderr := os.Stderr
	said, err := listen()
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "seer-kube:", err)
		os.Exit(1)
	}
	config := cluster.Config{PluginSaid: said.last}
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "proxy":
		os.Exit(proxy(args[1], config, stderr))
	case len(args) > 0 && args[0] == "exec":
		os.Exit(execute(args[1:], config, stderr))
	}
	_, _ = fmt.Fprintln(stderr, "usage: seer-kube proxy SOCKET | seer-kube exec CONTEXT NAMESPACE POD CONTAINER ARGV...")
	os.Exit(2)
}

// proxy serves a socket until standard input ends.
func proxy(socket string, config cluster.Config, stderr io.Writer) int {
	signal.Ignore(syscall.SIGPIPE)
	syscall.Umask(0o077)
	l, err := net.Listen("unix", socket)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "seer-kube:", err)
		return 1
	}
	server := &http.Server{Handler: &cluster.Proxy{Config: config}, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(l) }()
	_, _ = fmt.Println()
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = server.Close() // which removes the socket
	endChildren()
	return 0
}

// execute runs a command in a pod.
func execute(args []string, config cluster.Config, stderr io.Writer) int {
	flags := flag.NewFlagSet("exec", flag.ContinueOnError)
	flags.SetOutput(stderr)
	mark := flags.String("mark", "", "what the line with an error begins with, which is then JSON")
	parent := flags.Uint("parent", 0, "file descriptor that ends when the program that has started this one does")
	if flags.Parse(args) != nil || flags.NArg() < 5 {
		_, _ = fmt.Fprintln(stderr, "usage: seer-kube exec [-mark TEXT] [-parent FD] CONTEXT NAMESPACE POD CONTAINER ARGV...")
		return 2
	}
	if *parent != 0 {
		go func() {
			_, _ = io.Copy(io.Discard, os.NewFile(uintptr(*parent), "parent"))
			endChildren()
			os.Exit(1)
		}()
	}
	code, err := run(flags.Args(), config, stderr)
	if err == nil {
		return code
	}
	if *mark != "" {
		_, _ = fmt.Fprintf(stderr, "\n%s %s\n", *mark, kubewire.Failure(err))
	} else {
		_, _ = fmt.Fprintln(stderr, "seer-kube:", err)
	}
	return kubewire.OwnError
}

func run(args []string, config cluster.Config, stderr io.Writer) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c, err := config.Open(args[0])
	if err != nil {
		return 0, err
	}
	e := sdk.KubeExec{Namespace: args[1], Pod: args[2], Container: args[3], Argv: args[4:]}
	return c.Exec(ctx, e, cluster.Streams{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: stderr}, func(line string) {
		_, _ = fmt.Fprintln(stderr, "seer-kube:", line)
	})
}

// endChildren ends exec plugins that still run, where this program leads a group of processes.
func endChildren() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
}

// words are what exec plugins write to standard error.
type words struct {
	to *os.File // the end that they write to

	mu          sync.Mutex
	text        []byte
	at          time.Time
	asked, come int        // marks; see last
	changed     *sync.Cond // come
}

// behind is a mark that is no part of a text.
const behind = 0

// maxWords is more than a line that people read.
const maxWords = 4 << 10

// listen puts itself in the place of standard error, which client-go gives to exec plugins.
func listen() (*words, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	os.Stderr = to
	w := &words{to: to}
	w.changed = sync.NewCond(&w.mu)
	go func() { _, _ = io.Copy(w, from) }()
	return w, nil
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := bytes.ReplaceAll(p, []byte{behind}, nil)
	if len(text) > 0 {
		w.text = append(w.text, text...)
		w.text = bytes.Clone(w.text[max(0, len(w.text)-maxWords):])
		w.at = time.Now()
	}
	w.come += len(p) - len(text)
	w.changed.Broadcast()
	return len(p), nil
}

// recent is for how long the words of a plugin belong to an error.
const recent = time.Minute

// last is the last line that says something. What a plugin that has ended wrote is in the pipe, and a
// mark behind it tells when it has been read.
func (w *words) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	want := w.asked
	w.mu.Unlock()
	_, err := w.to.Write([]byte{behind})
	w.mu.Lock()
	for err == nil && w.come < want {
		w.changed.Wait()
	}
	lines := strings.Split(strings.TrimSpace(string(w.text)), "\n")
	if time.Since(w.at) > recent {
		return ""
	}
	return cluster.OneLine(lines[len(lines)-1])
}
