package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/agent/profile"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/sdk"
)

// maxTokenFile is more than any connection or session file has, in bytes.
const maxTokenFile = 64 << 10

// ways lead a confined agent to sandboxes, whatever the files say that were written before it
// was known how it is confined: they name the sandboxes by their endpoints of this computer.
//
// Only endpoints of the given sandboxes are led to. The folder may have files of an earlier
// agent, which could name anything else.
type ways struct {
	runner    *runner
	dir       string // private, with a short path
	endpoints map[string]*engine.Sandbox
	shells    map[string]*commands // by endpoint, of sandboxes in which the agent can have a shell
	inside    map[string]string    // endpoint or jupyter_url → what the agent uses in its place
	copies    int
}

func (r *runner) openWays(ctx context.Context, sandboxes []*engine.Sandbox) (*ways, error) {
	dir, err := r.engine.RunDirs().Replay()
	if err != nil {
		return nil, err
	}
	w := &ways{runner: r, dir: dir, endpoints: map[string]*engine.Sandbox{}, shells: map[string]*commands{}, inside: map[string]string{}}
	for _, s := range sandboxes {
		w.endpoints[s.Runtime().Endpoint()] = s
		if info, err := s.Info(ctx); err == nil && info.ExecutionMode == experiment.ModeCLI {
			w.shells[s.Runtime().Endpoint()] = r.traces.watchCommands(s)
		}
	}
	return w, nil
}

func (w *ways) close() {
	w.runner.agent.close(w.runner)
	_ = os.RemoveAll(w.dir) // after a failure, the next sweep does
}

// fill makes everything visible that the agent needs, and writes what it reads.
func (w *ways) fill(ctx context.Context, o AgentOptions) error {
	r, a := w.runner, &w.runner.agent
	a.env, a.texts = maps.Clone(o.Env), w.dir
	if a.env == nil {
		a.env = map[string]string{}
	}
	if a.confined() {
		if err := w.reachNotebooks(ctx, o); err != nil {
			return err
		}
		if err := w.showFolder(o.Dir); err != nil {
			return err
		}
		for _, path := range absolute(append(named(o.Agent.Servers), a.words(o.Agent)...)) {
			if err := w.show(path); err != nil {
				return err
			}
		}
		for name, value := range a.env {
			a.env[name] = w.changed(value)
		}
	}
	servers, err := w.servers()
	if err != nil {
		return err
	}
	cite(servers, a.isSeer(r.opts.Seer))
	prompt := o.Agent.Text()
	return errors.Join(
		w.give(mcpName, profile.MCPFile(profileServers(servers))), w.give(promptName, prompt+"\n"), r.keepPrompt(prompt),
		a.provision(r, prompt, servers),
	)
}

// servers are the MCP servers as the agent sees them.
func (w *ways) servers() (map[string]sdk.MCPServer, error) {
	servers := map[string]sdk.MCPServer{}
	for name, s := range w.runner.agent.servers {
		if s.URL != "" {
			made, err := w.runner.agent.bridge(w.runner, name, s)
			if err != nil {
				return nil, err
			}
			servers[name] = made
			continue
		}
		w.runner.agent.show(s.Program)
		made := sdk.MCPServer{Command: s.Argv[0], Env: map[string]string{}}
		for _, word := range s.Argv[1:] {
			made.Args = append(made.Args, w.changed(word))
		}
		for key, value := range s.Env {
			made.Env[key] = w.changed(value)
		}
		servers[name] = made
	}
	return servers, nil
}

// give writes a file that the agent reads.
func (w *ways) give(name, text string) error {
	path := w.runner.agent.text(name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	w.mount(path, path, false)
	return nil
}

func (w *ways) mount(source, target string, writable bool) {
	a := &w.runner.agent
	if a.confined() {
		a.mounts = append(a.mounts, sdk.Mount{Source: source, Target: target, Writable: writable})
	}
}

// reachNotebooks leads to the notebooks that the servers name by their jupyter_url.
func (w *ways) reachNotebooks(ctx context.Context, o AgentOptions) error {
	used := named(o.Agent.Servers)
	for _, s := range o.Sandboxes {
		env, err := s.Environment(ctx)
		if err != nil {
			return err
		}
		if env.JupyterURL == "" || !slices.Contains(used, env.JupyterURL) {
			continue
		}
		way, err := w.open(s.JupyterDialer(env.JupyterPort), w.runner.agent.seen.watch(fromNotebook), w.runner.traces.watch(s))
		if err != nil {
			return fmt.Errorf("make the agent's way to Jupyter: %w", err)
		}
		w.inside[env.JupyterURL] = "unix:" + way.socket + "?token=" + env.JupyterToken + "&base=" + env.JupyterBase
	}
	return nil
}

// open makes a socket that leads to wherever dial does.
func (w *ways) open(dial func(context.Context) (net.Conn, error), watch ...func() io.WriteCloser) (*relay, error) {
	a := &w.runner.agent
	dir := filepath.Join(w.dir, strconv.Itoa(len(a.relays)))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	way, err := listenRelay(dir, dial, func() {}, watch...)
	if err != nil {
		return nil, err
	}
	a.relays = append(a.relays, way)
	w.mount(way.socket, way.socket, true)
	return way, nil
}

// showFolder leads to what the connection and session files in the agent's folder name.
func (w *ways) showFolder(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read has no file for the agent
		case d.IsDir() && (d.Name() == ".git" || path == filepath.Join(dir, outputsName)):
			return fs.SkipDir
		case !d.Type().IsRegular() || !strings.HasSuffix(path, ".json"):
			return nil
		}
		return w.lead(path, false)
	})
}

// show makes a file, program or folder of this computer visible at its own place.
func (w *ways) show(path string) error {
	info, err := os.Stat(path)
	if err != nil || within(w.runner.exp.Workspace.Dir, path) || ofSystem(path) {
		return nil // a name, not a file; or shown with the folder or the system
	}
	if info.Mode().IsRegular() && strings.HasSuffix(path, ".json") {
		return w.lead(path, true)
	}
	w.mount(path, path, false)
	return nil
}

// lead shows a file, and if it has the endpoint of a sandbox also the way there.
func (w *ways) lead(path string, outside bool) error {
	content, endpoint := tokenFile(path)
	sandbox := w.endpoints[endpoint]
	source := path
	if sandbox != nil {
		inside, err := w.reach(endpoint, sandbox)
		if err != nil {
			return err
		}
		if inside != endpoint {
			content["endpoint"] = inside
			if source, err = w.copied(content); err != nil {
				return err
			}
		}
	}
	if outside || source != path {
		w.mount(source, path, false)
	}
	return nil
}

// reach makes a sandbox's runtime reachable, and returns its endpoint inside.
func (w *ways) reach(endpoint string, s *engine.Sandbox) (string, error) {
	if inside, done := w.inside[endpoint]; done {
		return inside, nil
	}
	inside := endpoint
	if socket, direct := strings.CutPrefix(endpoint, "unix:"); direct && w.runner.agent.seen == nil && w.shells[endpoint] == nil {
		w.mount(socket, socket, true)
	} else {
		way, err := w.open(s.Runtime().Dial, w.runner.agent.seen.watch(fromSandbox), w.shells[endpoint].watch())
		if err != nil {
			return "", fmt.Errorf("make the agent's way to its sandbox: %w", err)
		}
		inside = "unix:" + way.socket
	}
	w.inside[endpoint] = inside
	return inside, nil
}

// copied is a file with the content, for the agent alone.
func (w *ways) copied(content map[string]any) (string, error) {
	w.copies++
	path := filepath.Join(w.dir, strconv.Itoa(w.copies)+".json")
	data, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o600)
}

// changed is a text, or in the place of a jupyter_url what the agent uses instead.
func (w *ways) changed(text string) string {
	if inside, ok := w.inside[text]; ok {
		return inside
	}
	return text
}

// tokenFile reads a connection or session file; the endpoint of anything else is empty.
func tokenFile(path string) (content map[string]any, endpoint string) {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxTokenFile {
		return nil, ""
	}
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &content) != nil {
		return nil, ""
	}
	endpoint, _ = content["endpoint"].(string)
	return content, endpoint
}

// texts are all texts in a value of JSON.
func texts(value any) (all []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case map[string]any:
		for _, item := range v {
			all = append(all, texts(item)...)
		}
	case []any:
		for _, item := range v {
			all = append(all, texts(item)...)
		}
	}
	return all
}

// named are the texts in the entries of MCP servers, without their programs.
func named(servers map[string]map[string]any) (all []string) {
	for _, entry := range servers {
		all = append(all, append(texts(entry["args"]), texts(entry["env"])...)...)
	}
	return all
}

// words are those of the agent's command that may name files. A program that was found is shown
// with what it needs.
func (a *agentSetup) words(agent *experiment.Agent) []string {
	command := agent.Command
	if a.profiled != nil && len(command) > 0 {
		command = command[1:]
	}
	return slices.Concat(command, agent.Args)
}

func absolute(words []string) (paths []string) {
	for _, word := range words {
		if filepath.IsAbs(word) {
			paths = append(paths, word)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
