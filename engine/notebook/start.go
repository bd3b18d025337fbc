package notebook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
)

const (
	// DefaultPort is where Jupyter listens unless it is said.
	DefaultPort = 8888
	// ProcessID is that of Jupyter on its machine.
	ProcessID = "jupyter"
	// startPatience is how long Jupyter may take to answer. Extensions that are
	// imported for the first time on a slow disk take a minute.
	startPatience = 3 * time.Minute

	folder = "~/.seer/notebook" // of the service's program and configuration
)

// Requirements are those for pip that notebook mode needs. With lab, browsers get
// JupyterLab with the shared document.
func Requirements(lab bool) []string {
	list := []string{"jupyter_server>=2.14,<3", "ipykernel>=6.29,<8", "nbformat>=5.10,<6"}
	if lab {
		list = append(list, "jupyterlab>=4.2,<5", "jupyter-collaboration>=4,<6")
	}
	return list
}

// SetupCell is code that runs in every kernel before anybody can use it.
type SetupCell struct {
	Name   string `json:"name"`
	Code   string `json:"code"`
	Hidden bool   `json:"hidden"`
}

// Spec says how Jupyter is to run. The zero value is fine.
type Spec struct {
	Port         int               // 0 = 8888, or another where that is taken
	IP           string            // it listens at; empty = 127.0.0.1
	Token        string            // empty = a new one
	BaseURL      string            // path of everything, where a tunnel has one; empty = "/"
	Root         string            // folder whose files Jupyter shows; empty = the working folder
	NotebooksDir string            // for new notebooks, relative to Root; empty = "notebooks"
	Python       string            // interpreter that has the packages; empty = the configured one
	Lab          bool              // with JupyterLab
	Setup        []SetupCell       // in this order
	KernelEnv    map[string]string // variables of kernels besides those of every process
	Compiled     []byte            // by python.CompileNotebook, for the interpreter of the machine; without it, that one compiles
}

// Server is Jupyter on a machine.
type Server struct {
	Port    int
	Token   string
	URL     string  // as processes of the machine see it, with the token
	Address Address // as this engine reaches it: through the runtime
}

// Start starts Jupyter with the notebook service on a machine, and returns when it
// answers. It runs in the background, is started again when it ends, and is use of the machine only while a cell
// runs. What it prints goes to log, line by line, until then; later `seer logs` has it. A port that was said and
// is taken is an error of the code conflict.
func Start(ctx context.Context, rt *client.Client, s Spec, log func(line string)) (Server, error) {
	if s.Token == "" {
		s.Token = protocol.NewToken()
	}
	if err := s.upload(ctx, rt); err != nil {
		return Server{}, fmt.Errorf("put the notebook service into the sandbox: %w", err)
	}
	const tries = 12
	port := s.Port
	for i := 0; ; i++ {
		if s.Port == 0 {
			port = candidate(i)
			if i < tries && taken(ctx, rt, port) {
				continue
			}
		}
		server, err := start(ctx, rt, s, port, log)
		if err == nil || s.Port != 0 || i == tries || !errors.Is(err, errTaken) {
			return server, err
		}
	}
}

// errTaken is matched by errors.Is where another listens at the port.
var errTaken = &protocol.Error{Code: protocol.Conflict}

// config is the service's file, as docs/notebook.md has it.
type config struct {
	Root         string            `json:"root"`
	NotebooksDir string            `json:"notebooks_dir"`
	IP           string            `json:"ip"`
	Port         int               `json:"port"`
	Token        string            `json:"token"`
	BaseURL      string            `json:"base_url"`
	Lab          bool              `json:"lab"`
	Setup        []SetupCell       `json:"setup"`
	KernelEnv    map[string]string `json:"kernel_env"`
}

func (s Spec) config(root string, port int) config {
	c := config{
		Root: root, NotebooksDir: s.NotebooksDir, IP: s.IP, Port: port, Token: s.Token, BaseURL: s.BaseURL,
		Lab: s.Lab, Setup: s.Setup, KernelEnv: s.KernelEnv,
	}
	if c.IP == "" {
		c.IP = "127.0.0.1"
	}
	if c.BaseURL == "" {
		c.BaseURL = "/"
	}
	return c
}

// command starts the service. Its paths are the shell's business: those of arguments and
// variables mean what they mean to processes of the machine.
const command = `PYTHONPATH="$HOME/.seer/notebook/python${PYTHONPATH:+:$PYTHONPATH}" exec "${SEER_NOTEBOOK_PYTHON:-python3}" -m seer_notebook --config "$HOME/.seer/notebook/config.json"`

// process is what is started.
func (s Spec) process(interpreter string) protocol.ProcessSpec {
	return protocol.ProcessSpec{
		ID: ProcessID, Name: "jupyter", Shell: command, Cwd: s.Root,
		Background: true, Restart: true, Activity: folder + "/activity",
		Env: map[string]string{"SEER_NOTEBOOK_PYTHON": interpreter},
	}
}

func start(ctx context.Context, rt *client.Client, s Spec, port int, log func(string)) (Server, error) {
	p, err := s.launch(ctx, rt, port)
	if err != nil {
		return Server{}, fmt.Errorf("start Jupyter: %w", err)
	}
	server := Server{Port: port, Token: s.Token}
	server.URL = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + base(s.BaseURL) + "?token=" + s.Token
	if server.Address, err = Parse(server.URL); err != nil {
		return Server{}, err
	}
	server.Address.Dial = func(ctx context.Context) (net.Conn, error) { return rt.DialPort(ctx, port) }
	w := &starting{runtime: rt, process: p.ID, server: server, log: log}
	if err := w.wait(ctx); err != nil {
		// Whatever is left of it must not go on trying; the machine may be gone as well.
		clean, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer stop()
		_ = rt.Processes().Delete(clean, p.ID)
		return Server{}, err
	}
	return server, nil
}

// launch starts the process.
func (s Spec) launch(ctx context.Context, rt *client.Client, port int) (protocol.Process, error) {
	root, err := s.root(ctx, rt)
	if err != nil {
		return protocol.Process{}, err
	}
	data, err := json.Marshal(s.config(root, port))
	if err != nil {
		return protocol.Process{}, err
	}
	if err := rt.Files().Write(ctx, folder+"/config.json", bytes.NewReader(data), 0o600); err != nil {
		return protocol.Process{}, fmt.Errorf("write the configuration of the notebook service: %w", err)
	}
	interpreter, err := s.interpreter(ctx, rt)
	if err != nil {
		return protocol.Process{}, err
	}
	if err := rt.Processes().Delete(ctx, ProcessID); err != nil && protocol.CodeOf(err) != protocol.NotFound {
		return protocol.Process{}, err
	}
	return rt.Processes().Start(ctx, s.process(interpreter))
}

// root is the folder as processes of the machine see it.
func (s Spec) root(ctx context.Context, rt *client.Client) (string, error) {
	var out, said bytes.Buffer
	p, err := rt.Processes().Run(ctx, protocol.ProcessSpec{Shell: "pwd -P", Cwd: s.Root}, nil, &out, &said)
	if err != nil {
		return "", err
	}
	if p.ExitCode != 0 {
		return "", protocol.Errorf(protocol.Invalid, "the folder %s of the sandbox cannot be entered: %s", s.Root, strings.TrimSpace(said.String()))
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// interpreter is the Python that runs Jupyter.
func (s Spec) interpreter(ctx context.Context, rt *client.Client) (string, error) {
	if s.Python != "" {
		return s.Python, nil
	}
	h, err := rt.Health(ctx)
	return h.Python, err
}
