package fakemodal_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	modal "github.com/modal-labs/modal-client/go"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
)

// finish reads what a command says and waits for it.
func finish(t *testing.T, sb *modal.Sandbox, p *modal.SandboxExecParams, input string, argv ...string) (out, errs string, code int) {
	t.Helper()
	cp, err := sb.Exec(t.Context(), argv, p)
	if err != nil {
		t.Fatal(err)
	}
	if input != "" {
		if _, err := io.WriteString(cp.Stdin, input); err != nil {
			t.Fatal(err)
		}
	}
	if err := cp.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if code, err = cp.Wait(t.Context(), nil); err != nil { // before reading: what is written stays
		t.Fatal(err)
	}
	o, err := io.ReadAll(cp.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	e, err := io.ReadAll(cp.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return string(o), string(e), code
}

func TestExec(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		_, client := begin(t, fakemodal.Options{})
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Env: map[string]string{"A": "1"}})
		out, errs, code := finish(t, sb, &modal.SandboxExecParams{Env: map[string]string{"B": "2"}}, "in\n", "sh", "-c", "cat; echo $A$B$MODAL_SANDBOX_ID; echo bad >&2; exit 7")
		if out != "in\n12"+sb.SandboxID+"\n" || errs != "bad\n" || code != 7 {
			t.Errorf("%q %q %d", out, errs, code)
		}
		if _, _, code := finish(t, sb, nil, "", "sh", "-c", "kill -9 $$"); code != 137 {
			t.Errorf("killed: %d", code)
		}
		if _, errs, code := finish(t, sb, nil, "", "no-such-program"); code != 127 || errs == "" {
			t.Errorf("no program: %d %q", code, errs)
		}
		if out, _, _ := finish(t, sb, &modal.SandboxExecParams{PTY: true}, "", "sh", "-c", "echo o; echo e >&2"); out != "o\ne\n" {
			t.Errorf("terminal: %q", out)
		}
		if out, _, _ := finish(t, sb, &modal.SandboxExecParams{Stderr: modal.Ignore}, "", "sh", "-c", "echo o; echo e >&2"); out != "o\n" {
			t.Errorf("ignored: %q", out)
		}
		cp, err := sb.Exec(t.Context(), []string{"sleep", "1000"}, &modal.SandboxExecParams{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if code, err := cp.Wait(t.Context(), nil); err == nil && code != 137 || err != nil && !errors.As(err, new(modal.ExecTimeoutError)) {
			t.Errorf("timeout: %d %v", code, err)
		}
	})
}

func TestExecOfMuch(t *testing.T) {
	_, client := begin(t, fakemodal.Options{})
	sb := create(t, client, modal.SandboxCreateParams{})
	cp, err := sb.Exec(t.Context(), []string{"cat"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		for part := range slices.Chunk(data, 100_000) {
			if _, err := cp.Stdin.Write(part); err != nil {
				t.Error(err)
				return
			}
		}
		if err := cp.Stdin.Close(); err != nil {
			t.Error(err)
		}
	})
	if out, err := io.ReadAll(cp.Stdout); err != nil || !bytes.Equal(out, data) {
		t.Errorf("%d of %d bytes: %v", len(out), len(data), err)
	}
}

func TestEntryPoint(t *testing.T) {
	backends(t, func(t *testing.T, gpu string) {
		cloud, client := begin(t, fakemodal.Options{})
		sb := create(t, client, modal.SandboxCreateParams{GPU: gpu, Command: []string{"sh", "-c", "read a; echo é $a; read b; echo $b >&2; exit 5"}})
		for _, line := range []string{"one\n", "two\n"} {
			if _, err := io.WriteString(sb.Stdin, line); err != nil {
				t.Fatal(err)
			}
		}
		if code, err := sb.Wait(t.Context(), nil); err != nil || code != 5 {
			t.Errorf("%d %v", code, err)
		}
		out, err := io.ReadAll(sb.Stdout)
		if err != nil || string(out) != "é one\n" {
			t.Errorf("%q %v", out, err)
		}
		if errs, err := io.ReadAll(sb.Stderr); err != nil || string(errs) != "two\n" {
			t.Errorf("%q %v", errs, err)
		}
		if m := cloud.Machines()[0]; m.Billing || m.Result != "FAILURE" || m.ExitCode != 5 {
			t.Errorf("%+v", m)
		}
		if code, err := sb.Poll(t.Context(), nil); err != nil || *code != 5 {
			t.Errorf("poll: %v", err)
		}
		if _, err := sb.Exec(t.Context(), []string{"true"}, nil); err == nil {
			t.Error("a command starts in a sandbox that has ended")
		}
	})
}

func TestFiles(t *testing.T) {
	_, client := begin(t, fakemodal.Options{})
	sb := create(t, client, modal.SandboxCreateParams{})
	ctx, fs := t.Context(), sb.Filesystem
	local := filepath.Join(t.TempDir(), "local")
	big := bytes.Repeat([]byte("x"), 1<<20)
	if err := os.WriteFile(local, big, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		fs.WriteText(ctx, "hello", "/workspace/a/b/f", nil),
		fs.MakeDirectory(ctx, "/root/d", nil),
		fs.CopyFromLocal(ctx, local, "/root/d/big", nil),
		fs.CopyToLocal(ctx, "/root/d/big", local+"2", nil),
	); err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadText(ctx, "/workspace/a/b/f", nil); err != nil || text != "hello" {
		t.Errorf("%q %v", text, err)
	}
	if data, err := os.ReadFile(local + "2"); err != nil || !bytes.Equal(data, big) {
		t.Errorf("%d bytes: %v", len(data), err)
	}
	if out, _, _ := finish(t, sb, nil, "", "sh", "-c", "cat /workspace/a/b/f; wc -c </root/d/big"); strings.Join(strings.Fields(out), " ") != "hello1048576" {
		t.Errorf("a command sees %q", out)
	}
	info, err := fs.Stat(ctx, "/workspace/a/b/f", nil)
	if err != nil || info.Type != modal.FileTypeFile || info.Size != 5 || info.Permissions != "rw-r--r--" || info.Path != "/workspace/a/b/f" {
		t.Errorf("%+v %v", info, err)
	}
	if list, err := fs.ListFiles(ctx, "/workspace/a", nil); err != nil || len(list) != 1 || list[0].Type != modal.FileTypeDirectory || list[0].Name != "b" {
		t.Errorf("%+v %v", list, err)
	}
	testFileErrors(t, fs)
	if err := fs.Remove(ctx, "/workspace/a", &modal.SandboxFilesystemRemoveParams{Recursive: true}); err != nil {
		t.Error(err)
	}
	if _, err := fs.Stat(ctx, "/workspace/a", nil); !errors.As(err, new(modal.SandboxFilesystemNotFoundError)) {
		t.Error(err)
	}
}

func testFileErrors(t *testing.T, fs *modal.SandboxFilesystem) {
	t.Helper()
	ctx, no := t.Context(), false
	for name, c := range map[string]struct {
		err  error
		want any
	}{
		"read a folder":        {second(fs.ReadText(ctx, "/workspace/a", nil)), new(modal.SandboxFilesystemIsADirectoryError)},
		"write a folder":       {fs.WriteText(ctx, "x", "/workspace/a", nil), new(modal.SandboxFilesystemIsADirectoryError)},
		"write below a file":   {fs.WriteText(ctx, "x", "/workspace/a/b/f/g", nil), new(modal.SandboxFilesystemNotADirectoryError)},
		"list a file":          {second(fs.ListFiles(ctx, "/workspace/a/b/f", nil)), new(modal.SandboxFilesystemNotADirectoryError)},
		"list nothing":         {second(fs.ListFiles(ctx, "/workspace/none", nil)), new(modal.SandboxFilesystemNotFoundError)},
		"remove a full folder": {fs.Remove(ctx, "/workspace/a", nil), new(modal.SandboxFilesystemDirectoryNotEmptyError)},
		"make what is there":   {fs.MakeDirectory(ctx, "/workspace/a", &modal.SandboxFilesystemMakeDirectoryParams{CreateParents: &no}), new(modal.SandboxFilesystemPathAlreadyExistsError)},
		"make a file's place":  {fs.MakeDirectory(ctx, "/workspace/a/b/f", nil), new(modal.SandboxFilesystemPathAlreadyExistsError)},
		"make without parents": {fs.MakeDirectory(ctx, "/workspace/x/y", &modal.SandboxFilesystemMakeDirectoryParams{CreateParents: &no}), new(modal.SandboxFilesystemNotFoundError)},
		"watch nothing":        {watched(fs.Watch(ctx, "/workspace/none", nil)), new(modal.SandboxFilesystemNotFoundError)},
	} {
		if !errors.As(c.err, c.want) {
			t.Errorf("%s: %T %v", name, c.err, c.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func watched(events func(func(modal.FileWatchEvent, error) bool), err error) error {
	if err != nil {
		return err
	}
	for _, err := range events {
		return err
	}
	return nil
}

func TestWatch(t *testing.T) {
	_, client := begin(t, fakemodal.Options{})
	sb := create(t, client, modal.SandboxCreateParams{})
	fs := sb.Filesystem
	events, err := fs.Watch(t.Context(), "/workspace", &modal.SandboxFilesystemWatchParams{Recursive: true,
		Filter: []modal.FileWatchEventType{modal.FileWatchEventTypeCreate}})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	go func() { // until it is seen
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				_ = fs.WriteText(t.Context(), "x", "/workspace/new/f"+strings.Repeat("f", i), nil)
			}
		}
	}()
	defer close(stop)
	for e, err := range events {
		if err != nil || e.EventType != modal.FileWatchEventTypeCreate || !strings.HasPrefix(e.Paths[0], "/workspace/new") {
			t.Errorf("%+v %v", e, err)
		}
		break
	}
}
