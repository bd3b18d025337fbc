package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testsource"
)

const unconfirmed = "reaches beyond its folder and its confinement"

// victim is a user with a folder of secrets beside the experiments of strangers.
type victim struct {
	*engine.Engine
	t           *testing.T
	home, state string
	env         map[string]string
}

func newVictim(t *testing.T, defended bool, change ...func(*engine.Options)) *victim {
	t.Helper()
	v := &victim{t: t, home: t.TempDir(), env: map[string]string{}}
	v.Engine = newEngine(t, func(o *engine.Options) {
		o.DataDir, v.state = filepath.Join(v.home, "data"), o.StateDir
		o.LookupEnv = func(name string) (string, bool) {
			if value, ok := v.env[name]; ok {
				return value, true
			}
			return os.LookupEnv(name)
		}
		for _, c := range change {
			c(o)
		}
	})
	if !defended {
		v.Unguard()
	}
	v.write("secret.txt", "the user's secret")
	return v
}

func (v *victim) path(name string) string { return filepath.Join(v.home, name) }

func (v *victim) write(name, text string) {
	v.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(v.path(name)), 0o755), os.WriteFile(v.path(name), []byte(text), 0o600)); err != nil {
		v.t.Fatal(err)
	}
}

// runs an experiment with its agent. It gives what the agent printed.
func (v *victim) runs(exp *experiment.Experiment) (string, error) {
	var out bytes.Buffer
	result, err := run.Run(v.t.Context(), v.Engine, exp, run.Options{Stdout: &out, Stderr: &out})
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("the agent ended with %d: %s", result.ExitCode, &out)
	}
	return out.String(), err
}

// got is nil if the attacker has the text.
func got(out, want string, err error) error {
	if err == nil && !strings.Contains(out, want) {
		err = fmt.Errorf("it got %q", out)
	}
	return err
}

const agentPart = "workspace: {files: [agent.py]}\nagent: {command: [python3, agent.py], isolation: %s, network: %s}\n"

func TestAttacks(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "experiment-runs-unconfined-agent", Want: unconfirmed, Try: unconfinedAgent},
		{Name: "experiment-runs-unconfined-sandbox", Want: unconfirmed, Try: unconfinedSandbox},
		{Name: "experiment-links-to-the-users-file", Isolation: "bubblewrap", Want: unconfirmed, Try: linkedFile},
		{Name: "experiment-reads-another-folder", Isolation: "bubblewrap", Want: unconfirmed, Try: foreignModel},
		{Name: "experiment-in-the-home-reads-the-home", Isolation: "bubblewrap", Want: unconfirmed, Try: homeFolder},
		{Name: "experiment-writes-elsewhere", Isolation: "bubblewrap", Want: unconfirmed, Try: foreignOutputs},
		{Name: "experiment-takes-a-variable-as-secret", Isolation: "bubblewrap", Want: unconfirmed, Try: takenSecret},
		{Name: "experiment-reaches-loopback", Isolation: "bubblewrap", Want: unconfirmed, Try: reachedLoopback},
		{Name: "experiment-reaches-host-port", Isolation: "bubblewrap", Want: unconfirmed, Try: reachedHostPort},
		{Name: "experiment-reads-password-of-package-index", Isolation: "bubblewrap", Want: "secret PIP_INDEX_URL", Try: readIndexPassword},
		{Name: "image-pulled-with-users-login", Isolation: "bubblewrap", Want: unconfirmed, Try: pullPrivateImage},
		{Name: "repository-gets-token-unconfirmed", Want: unconfirmed, Try: askedForToken},
		{Name: "dotenv-chooses-the-package-index", Isolation: "bubblewrap", Want: "setting PIP_INDEX_URL", Try: foreignIndex},
		{Name: "confirmed-code-is-replaced", Want: unconfirmed, Try: replacedCode},
		{Name: "confirmed-script-is-replaced", Want: unconfirmed, Try: replacedScript},
		{Name: "confirmation-of-another-folder", Want: unconfirmed, Try: otherFolder},
	})
}

func unconfinedAgent(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	exp := load(t, map[string]string{"seer.yaml": "name: t\n" + fmt.Sprintf(agentPart, "none", "open"),
		"agent.py": fmt.Sprintf("print(open(%q).read())", v.path("secret.txt"))})
	out, err := v.runs(exp)
	return got(out, "the user's secret", err)
}

func unconfinedSandbox(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	exp := load(t, map[string]string{"seer.yaml": "name: t\nsandbox: {isolation: none}\n",
		"interface.py": fmt.Sprintf("text = open(%q).read()\n@expose\ndef steal() -> str:\n    return text\n", v.path("secret.txt"))})
	s, err := v.Up(t.Context(), exp, engine.UpOptions{Attached: time.Minute})
	if err != nil {
		return err
	}
	defer s.Terminate(context.Background())
	served, err := s.Serve(t.Context(), engine.ServeOptions{File: filepath.Join(filepath.Dir(exp.File), "interface.py"), Name: "tools"})
	if err != nil {
		return err
	}
	var text string
	err = served.Call(t.Context(), "steal", nil, nil, &text)
	return got(text, "the user's secret", err)
}

const printData = "print(open('data').read())"

func linkedFile(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	exp := load(t, map[string]string{"seer.yaml": "name: t\nworkspace: {files: [agent.py, data]}\nagent: {command: [python3, agent.py]}\n", "agent.py": printData})
	if err := os.Symlink(v.path("secret.txt"), filepath.Join(filepath.Dir(exp.File), "data")); err != nil {
		t.Fatal(err)
	}
	out, err := v.runs(exp)
	return got(out, "the user's secret", err)
}

func foreignModel(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	return inSandbox(v, load(t, map[string]string{"seer.yaml": fmt.Sprintf("name: t\nsandbox: {models: [%q]}\n", v.home)}),
		"cat /models/*/secret.txt", "the user's secret")
}

// homeFolder is an experiment file that was saved in the home folder, which does not make
// the home a folder of the experiment.
func homeFolder(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	v.env["HOME"] = v.home
	v.write("seer.yaml", "name: t\nsandbox: {local_files: [[./secret.txt, /workspace/in]]}\n")
	exp, err := experiment.Load(t.Context(), v.path("seer.yaml"), experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return inSandbox(v, exp, "cat /workspace/in", "the user's secret")
}

// inSandbox is nil if a command in the experiment's sandbox prints the text.
func inSandbox(v *victim, exp *experiment.Experiment, command, want string) error {
	s, err := v.Up(v.t.Context(), exp, engine.UpOptions{Attached: time.Minute})
	if err != nil {
		return err
	}
	defer s.Terminate(context.Background())
	var out bytes.Buffer
	_, err = s.Exec(v.t.Context(), protocol.ProcessSpec{Shell: command}, nil, &out, &out)
	return got(out.String(), want, err)
}

func foreignOutputs(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	exp := load(t, map[string]string{"seer.yaml": fmt.Sprintf("name: t\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py]}\noutputs: %q\n", v.path("autostart")),
		"agent.py": "import os; open(os.environ['SEER_OUTPUTS'] + '/evil.desktop', 'w').write('Exec=evil')"})
	if _, err := v.runs(exp); err != nil {
		if _, made := os.Lstat(v.path("autostart")); made == nil {
			t.Error("the folder was made before it was confirmed")
		}
		return err
	}
	_, err := os.Stat(v.path("autostart/evil.desktop"))
	return err
}

func takenSecret(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	v.env["CLOUD_ACCESS_KEY"] = "key-of-the-user"
	return inSandbox(v, load(t, map[string]string{"seer.yaml": "name: t\nsandbox: {secrets: [CLOUD_ACCESS_KEY]}\n"}),
		"python3 -c 'import os; print(os.environ[\"CLOUD_ACCESS_KEY\"][::-1])'", "resu-eht-fo-yek")
}

func reachedLoopback(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	exp := load(t, map[string]string{"seer.yaml": "name: t\n" + fmt.Sprintf(agentPart, "bubblewrap", "open"),
		"agent.py": fmt.Sprintf("import socket\nprint(socket.create_connection(('127.0.0.1', %d)).recv(100))", database(t))})
	out, err := v.runs(exp)
	return got(out, "the user's database", err)
}

// reachedHostPort lists a port of this computer, which needs no open network.
func reachedHostPort(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	port := database(t)
	exp := load(t, map[string]string{"seer.yaml": fmt.Sprintf("name: t\nsandbox: {network: none, host_ports: [%d], isolation: bubblewrap}\n", port)})
	s, err := v.Up(t.Context(), exp, engine.UpOptions{Attached: time.Minute})
	if err != nil {
		return err
	}
	defer s.Terminate(context.Background())
	var out bytes.Buffer
	_, err = s.Exec(t.Context(), protocol.ProcessSpec{Argv: []string{"python3", "-c",
		fmt.Sprintf("import socket; print(socket.create_connection(('127.0.0.1', %d)).recv(100))", port)}}, nil, &out, &out)
	return got(out.String(), "the user's database", err)
}

// database listens at a port of this computer's loopback.
func database(t *testing.T) int {
	t.Helper()
	return testkit.Port(testkit.Serve(testkit.Loopback(t), testkit.Say("the user's database")))
}

// readIndexPassword installs a repository whose command keeps what pip was given.
func readIndexPassword(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	index := testsource.NewIndex(t, "password-of-the-user", testsource.Package{Name: "alpha", Version: "1.0"})
	v.env["PIP_INDEX_URL"] = index.URL
	git := testsource.NewGit(t, "")
	git.Commit("lib", map[string]string{"a.txt": "a"})
	exp := load(t, map[string]string{"seer.yaml": "name: t\nsandbox: {python_packages: [alpha], " + git.Reached() + ", repos: [{url: '" + git.URL + "/lib.git', install: 'echo $PIP_INDEX_URL > stolen'}]}\n"})
	return inSandbox(v, exp, "cat /workspace/lib/stolen", "password-of-the-user")
}

// askedForToken plans an experiment whose repository is the stranger's and opens with the
// user's token alone.
func askedForToken(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	v.env["GIT_TOKEN"] = "tok-of-the-user"
	git := testsource.NewGit(t, "tok-of-the-user")
	git.Commit("lib", map[string]string{"a.txt": "a"})
	exp := load(t, map[string]string{"seer.yaml": "name: t\nsandbox: {secrets: [GIT_TOKEN], repos: ['" + git.URL + "/lib.git']}\n"})
	_, err := v.Plan(t.Context(), exp, engine.CheckOptions{})
	return err
}

func foreignIndex(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	index := testsource.NewIndex(t, "", testsource.Package{Name: "alpha", Version: "6.6.6"})
	at, err := url.Parse(index.URL)
	if err != nil {
		t.Fatal(err)
	}
	exp := load(t, map[string]string{"seer.yaml": "name: t\nsandbox: {python_packages: [alpha], host_ports: [" + at.Port() + "]}\n", ".env": "PIP_INDEX_URL=" + index.URL + "\n"})
	return inSandbox(v, exp, "python -c 'import alpha; print(alpha.VERSION)'", "6.6.6")
}

// confirmedOnce lets the user confirm an experiment for good, with what was to be seen.
func confirmedOnce(v *victim, files map[string]string) *experiment.Experiment {
	v.t.Helper()
	exp := load(v.t, files)
	store := trust.Store{Dir: filepath.Join(v.state, "trust")}
	var refused *trust.Error
	if _, err := v.runs(exp); errors.As(err, &refused) {
		if err := store.Confirm(refused.Effects); err != nil {
			v.t.Fatal(err)
		}
	}
	if out, err := v.runs(exp); err != nil || !strings.Contains(out, "harmless") {
		v.t.Fatalf("what was confirmed does not run: %q, %v", out, err)
	}
	return exp
}

var harmlessFiles = map[string]string{"seer.yaml": "name: t\n" + fmt.Sprintf(agentPart, "none", "open"), "agent.py": "print('harmless')"}

// replacedScript changes a file that only the command names.
func replacedScript(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	files := map[string]string{"run.sh": "echo harmless", "seer.yaml": "name: t\nagent: {command: [sh, ../run.sh], isolation: none, network: open}\n"}
	return replaced(v, files, "run.sh", "cat "+v.path("secret.txt"))
}

func replacedCode(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	return replaced(v, harmlessFiles, "agent.py", fmt.Sprintf("print(open(%q).read())", v.path("secret.txt")))
}

// replaced changes a file after the user has confirmed the experiment.
func replaced(v *victim, files map[string]string, name, evil string) error {
	exp := confirmedOnce(v, files)
	testkit.WriteFile(v.t, filepath.Join(filepath.Dir(exp.File), name), evil)
	out, err := v.runs(exp)
	return got(out, "the user's secret", err)
}

// otherFolder has the same file and the same command elsewhere.
func otherFolder(t *testing.T, defended bool) error {
	v := newVictim(t, defended)
	confirmedOnce(v, harmlessFiles)
	out, err := v.runs(load(t, map[string]string{"seer.yaml": harmlessFiles["seer.yaml"], "agent.py": fmt.Sprintf("print(open(%q).read())", v.path("secret.txt"))}))
	return got(out, "the user's secret", err)
}

// Who has confirmed is not asked again, and whoever only allows it once is.
func TestConfirmations(t *testing.T) {
	t.Parallel()
	asked, answer := 0, trust.Once
	e := newEngine(t, func(o *engine.Options) {
		o.Trust = func(_ context.Context, e trust.Effects) (trust.Answer, error) {
			asked++
			return answer, nil
		}
	})
	exp := load(t, harmlessFiles)
	for i, want := range []int{1, 2, 2} {
		if i == 1 {
			answer = trust.Always
		}
		if _, err := run.Run(t.Context(), e, exp, run.Options{}); err != nil || asked != want {
			t.Errorf("run %d: %v, asked %d times instead of %d", i, err, asked, want)
		}
	}
	plain := load(t, map[string]string{"seer.yaml": "name: t\nsandbox: {models: [./m], network: none, ports: [8899], local_dirs: [[./m, /workspace/m]]}\nworkspace: {files: [agent.py]}\nagent: {command: [python3, agent.py]}\n",
		"agent.py": "", "m/w.bin": "1"})
	if _, err := run.Run(t.Context(), e, plain, run.Options{}); err != nil || asked != 2 {
		t.Errorf("what stays in its folder: %v, asked %d times", err, asked)
	}
	p, err := e.Plan(t.Context(), exp, engine.CheckOptions{})
	if err != nil || p.Effects == nil || len(p.Effects.Outside) == 0 || !strings.Contains(strings.Join(p.Lines(), "\n"), "confirm     run on this computer, unconfined: the agent: python3 agent.py") {
		t.Errorf("the plan: %+v, %v", p.Effects, err)
	}
}

// TestThePromptFileIsConfirmed: the agent is given what is in it, wherever it is.
func TestThePromptFileIsConfirmed(t *testing.T) {
	v := newVictim(t, true)
	exp := load(t, map[string]string{"seer.yaml": fmt.Sprintf("name: t\nsandbox: {network: none}\nagent: {command: [python3], prompt_file: %q}\n", v.path("secret.txt"))})
	p, err := v.Plan(t.Context(), exp, engine.CheckOptions{})
	if err != nil || p.Effects == nil || !strings.Contains(strings.Join(p.Effects.Outside, "\n"), "secret.txt") {
		t.Errorf("%+v, %v", p.Effects, err)
	}
}
