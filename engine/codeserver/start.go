package codeserver

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

const (
	// DefaultPort is where it listens unless it is said.
	DefaultPort = 8443
	// ProcessID is that of VS Code on its machine.
	ProcessID = "code-server"
	patience  = 2 * time.Minute
)

// Spec says how it is to run.
type Spec struct {
	Program  *Program // of this computer; nil = the machine's own, which is installed where it is missing
	Shown    bool     // the machine has Program's mounts; otherwise it shares this computer's files
	Port     int      // 0 = 8443, or another where that is taken
	IP       string   // it listens at; empty = 127.0.0.1
	Password string   // empty = a new one
	Base     string   // path of all its pages, with a slash at both ends; empty = "/"
	SHA256   string   // of the release that is installed on a machine, in hex, or several with spaces between; empty = what GitHub tells
}

// Server is VS Code on a machine.
type Server struct {
	Port     int
	Password string
}

// Start starts it and returns when it answers. It runs in the background, is started
// again when it ends, and is use of the machine while a browser has it open. A port
// that was said and is taken is an error of the code conflict.
func Start(ctx context.Context, rt *client.Client, s Spec, log func(string)) (Server, error) {
	if s.Password == "" {
		s.Password = protocol.NewToken()
	}
	if s.IP == "" {
		s.IP = "127.0.0.1"
	}
	s.Base = cmp.Or(s.Base, "/")
	command := []string{"code-server"}
	if s.Program != nil {
		command = s.Program.command(s.Shown)
	} else if err := install(ctx, rt, s.SHA256, log); err != nil {
		return Server{}, err
	}
	const tries = 12
	for i := 0; ; i++ {
		port := s.Port
		if port == 0 {
			port = DefaultPort
			if i > 0 {
				port += 1 + rand.IntN(1000)
			}
		}
		free, err := unused(ctx, rt, port)
		switch {
		case err != nil:
			return Server{}, err
		case !free && (s.Port != 0 || i == tries):
			return Server{}, protocol.Errorf(protocol.Conflict, "port %d of the sandbox is taken by something else; give another debug_port, or none", port)
		case !free:
			continue
		}
		return Server{Port: port, Password: s.Password}, s.start(ctx, rt, command, port)
	}
}

// unused reports whether nobody listens at a port.
func unused(ctx context.Context, rt *client.Client, port int) (bool, error) {
	conn, err := rt.DialPort(ctx, port)
	if err == nil {
		conn.Close()
		return false, nil
	}
	if protocol.CodeOf(err) == protocol.Unavailable && ctx.Err() == nil {
		return true, nil
	}
	return false, err
}

// releases is where the releases of code-server are, which bring all that they need. Its
// npm package would need compilers and one version of Node.js.
const releases = "https://github.com/coder/code-server/releases/download"

// tags is where GitHub tells of each release which files it has, with their SHA-256.
const tags = "https://api.github.com/repos/coder/code-server/releases/tags"

//go:embed install.sh
var installer string

func installScript(releases, tags, pinned string) string {
	return strings.NewReplacer("RELEASES", releases, "TAGS", tags, "PINNED", pinned, "VERSION", Version).Replace(installer)
}

// PinnedIn is the variable with the SHA-256 of the release, for [Spec].SHA256.
const PinnedIn = "SEER_CODE_SERVER_SHA256"

// CheckPinned tells what cannot be a [Spec].SHA256: an error of the code invalid.
func CheckPinned(text string) error {
	_, err := digests(text)
	return err
}

// digests checks what a user has pinned and brings it into the script's form.
func digests(text string) (string, error) {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' })
	for i, one := range all {
		one = strings.TrimPrefix(one, "sha256:")
		if all[i] = one; len(one) != 64 || strings.Trim(one, "0123456789abcdef") != "" {
			return "", sdk.Errorf(sdk.Invalid, "%s has %q, which is not a SHA-256; write the 64 digits that sha256sum prints, one for each kind of machine", PinnedIn, one)
		}
	}
	return strings.Join(all, " "), nil
}

// install brings code-server to a machine that is not this computer, unless its image has
// one.
func install(ctx context.Context, rt *client.Client, pinned string, log func(string)) error {
	pinned, err := digests(pinned)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	p, err := rt.Processes().Run(ctx, protocol.ProcessSpec{Shell: installScript(releases, tags, pinned), Name: "install code-server"}, nil, &out, &out)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if log != nil && out.Len() > 0 {
		for _, line := range lines {
			log(line)
		}
	}
	if err != nil {
		return err
	}
	if p.ExitCode != 0 {
		return sdk.Errorf(sdk.Unsupported, "code-server could not be installed on the machine: %s; let the machine reach github.com, or take a sandbox.image that has code-server in its PATH", strings.Join(lines[max(0, len(lines)-5):], "; "))
	}
	return nil
}

func (s Spec) start(ctx context.Context, rt *client.Client, command []string, port int) error {
	if err := rt.Processes().Delete(ctx, ProcessID); err != nil && protocol.CodeOf(err) != protocol.NotFound {
		return err
	}
	quoted := make([]string, len(command))
	for i, word := range command {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	line := `PATH="$PATH:$HOME/.local/bin" `
	if s.Base != "/" {
		if err := rt.Files().Write(ctx, "~/"+basePathFile, bytes.NewReader(s.basePathScript(port)), 0o600); err != nil {
			return fmt.Errorf("write what code-server's path is: %w", err)
		}
		line += `NODE_OPTIONS="--require \"$HOME/` + basePathFile + `\" $NODE_OPTIONS" `
	}
	line += "exec " + strings.Join(quoted, " ") + " --bind-addr " + net.JoinHostPort(s.IP, strconv.Itoa(port)) +
		` --auth password --disable-telemetry --disable-update-check --disable-workspace-trust --disable-getting-started-override .`
	p, err := rt.Processes().Start(ctx, protocol.ProcessSpec{
		ID: ProcessID, Name: "code-server", Shell: line, Background: true, Restart: true, Activity: "~/.local/share/code-server/heartbeat",
		Env: map[string]string{"PASSWORD": s.Password, "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""},
	})
	if err != nil {
		return fmt.Errorf("start code-server: %w", err)
	}
	if err := wait(ctx, rt, p.ID, port, s.Base); err != nil {
		clean, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer stop()
		return errors.Join(err, ignoreGone(rt.Processes().Delete(clean, p.ID)))
	}
	return nil
}

//go:embed basepath.cjs
var basePathTemplate string

const basePathFile = ".seer/code-server/basepath.cjs" // in the home folder

// basePathScript is the program that puts everything below the path.
func (s Spec) basePathScript(port int) []byte {
	return s.fill(basePathTemplate, port)
}

func (s Spec) fill(text string, port int) []byte {
	return []byte(strings.NewReplacer("= BASE,", "= "+strconv.Quote(s.Base)+",", "= PORT,", "= "+strconv.Itoa(port)+",",
		"= HERE;", "= "+strconv.FormatBool(s.here())+";").Replace(text))
}

// here reports whether only this machine gets to the port. Elsewhere any name may lead
// to it.
func (s Spec) here() bool {
	ip := net.ParseIP(s.IP)
	return s.IP == "localhost" || ip != nil && ip.IsLoopback()
}

func ignoreGone(err error) error {
	if protocol.CodeOf(err) == protocol.NotFound || client.Ended(err) {
		return nil
	}
	return err
}

func wait(ctx context.Context, rt *client.Client, process string, port int, base string) error {
	web := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return rt.DialPort(ctx, port) }}}
	deadline := time.Now().Add(patience)
	for {
		if alive(ctx, web, base) {
			return nil
		}
		p, err := rt.Processes().Get(ctx, process)
		switch {
		case err != nil:
			return err
		case p.State == protocol.ProcessExited || p.Restarts > 0:
			return sdk.Errorf(sdk.Internal, "code-server ended at its start: %s", said(ctx, rt, process))
		case time.Now().After(deadline):
			return sdk.Errorf(sdk.Unavailable, "code-server does not answer after %s: %s", patience, said(ctx, rt, process))
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func alive(ctx context.Context, web *http.Client, base string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://code-server"+base+"healthz", nil)
	if err != nil {
		return false
	}
	resp, err := web.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10))
	return resp.StatusCode == http.StatusOK
}

// said are the last words of the process, or the error among them, which Node.js follows
// with a stack.
func said(ctx context.Context, rt *client.Client, process string) string {
	var out bytes.Buffer
	_, _, _ = rt.Processes().Output(ctx, process, 0, false, &out, &out)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines {
		if strings.Contains(line, "Error: ") {
			return strings.TrimSpace(line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}
