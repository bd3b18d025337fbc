package run_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/internal/testkit"
)

// blinded is an experiment with a hidden model.
func blinded(t *testing.T, agent, mode string) (*engine.Engine, *experiment.Experiment) {
	t.Helper()
	change := "sandbox: {network: none, execution_mode: " + mode + ", models: [{name: ./quagmire-9b, hidden: true}]}\n"
	e, exp := setup(t, agent, change)
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	testkit.WriteFiles(t, filepath.Dir(exp.File), map[string]string{
		"quagmire-9b/config.json":       `{"model_type": "llama"}`,
		"quagmire-9b/model.safetensors": string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "four",
	})
	exp.Workspace.NoPreload = true
	return e, exp
}

// A name in what the agent is given is found after everything is there, too: it does not
// start.
func TestHiddenNameInTheAgentsFolder(t *testing.T) {
	t.Parallel()
	const ran = "the agent has run"
	for name, change := range map[string]func(t *testing.T, exp *experiment.Experiment){
		"a file of the folder": func(t *testing.T, exp *experiment.Experiment) {
			testkit.WriteFiles(t, exp.Workspace.Dir, map[string]string{"notes/old.md": "Quagmire told me."})
		},
		"a function's description": func(t *testing.T, exp *experiment.Experiment) {
			testkit.WriteFiles(t, filepath.Dir(exp.File), map[string]string{"interface.py": "@expose\ndef ask(who: str = 'cXVhZ21pcmUtOWI='):\n    return 1\n"})
		},
		"local files": func(t *testing.T, exp *experiment.Experiment) {
			testkit.WriteFiles(t, filepath.Dir(exp.File), map[string]string{"a.txt": "quagmire"})
			exp.Sandbox.ExecutionMode = experiment.ModeLocal
			exp.Sandbox.LocalFiles = []experiment.Pair{{Local: filepath.Join(filepath.Dir(exp.File), "a.txt"), Remote: "/workspace/a.txt"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, exp := blinded(t, "print('"+ran+"')", "null")
			change(t, exp)
			var out bytes.Buffer
			_, err := run.Run(t.Context(), e, exp, run.Options{Stdout: &out, Stderr: &out})
			var found *engine.HiddenError
			if engine.KindOf(err) != engine.KindConfig || !errors.As(err, &found) || strings.Contains(out.String(), ran) {
				t.Errorf("%v:\n%s", err, out.String())
			}
		})
	}
}

// After a run it is said where the agent could see the name, and how often.
func TestNamesThatWereSeen(t *testing.T) {
	t.Parallel()
	e, exp := blinded(t, `
import base64, os, tools
out = os.environ["SEER_OUTPUTS"]
said = tools.says()
print("the model says", said, "and", said)
open(out + "/notes.md", "w").write("It is a " + said)
open(out + "/notes.b64", "wb").write(base64.b64encode(said.encode()))
`, "null")
	testkit.WriteFiles(t, filepath.Dir(exp.File), map[string]string{"interface.py": "@expose\ndef says() -> str:\n    return 'quag' + 'mire'\n"})
	var out bytes.Buffer
	var told []string
	progress := func(ev engine.Event) { told = append(told, eventtext.Sentence(ev)) }
	result, err := run.Run(t.Context(), e, exp, run.Options{Stdout: &out, Stderr: &out, Progress: progress})
	if err != nil || result.ExitCode != 0 {
		t.Fatalf("%+v, %v:\n%s", result, err, out.String())
	}
	want := []run.HiddenName{{Where: "agent.log", Times: 2}, {Where: "outputs/notes.b64 (base64)", Times: 1}, {Where: "outputs/notes.md", Times: 1}, {Where: "the sandbox's answers to the agent", Times: 1}}
	if !equal(result.HiddenNames, want) {
		t.Errorf("seen: %+v", result.HiddenNames)
	}
	all := strings.Join(told, "\n")
	if !strings.Contains(all, "the name of a hidden model was seen: 2 times in agent.log, once in outputs/notes.b64 (base64), once in outputs/notes.md, once in the sandbox's answers to the agent") ||
		!strings.Contains(all, "found no name of a hidden model in the agent's folder, variables, command and tools") {
		t.Errorf("told: %s", all)
	}
	var recorded struct {
		HiddenNames []run.HiddenName `json:"hidden_names"`
	}
	data, err := os.ReadFile(filepath.Join(result.Folder, "run.json"))
	if err == nil {
		err = json.Unmarshal(data, &recorded)
	}
	if err != nil || !equal(recorded.HiddenNames, want) {
		t.Errorf("run.json: %+v, %v", recorded, err)
	}
}

func equal(a, b []run.HiddenName) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// shellClient begins an agent that uses its shell session by the runtime's protocol alone.
const shellClient = `
import http.client, json, socket, time
key = json.load(open("session.json"))
class Way(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(key["endpoint"][len("unix:"):])
`

const cliAgent = shellClient + `
def ask(method, path, body=None):
    way = Way("sandbox")
    way.request(method, path, body, {"Authorization": "Bearer " + key["token"]})
    return way.getresponse().read()
shell = "printf 'quag'; sleep 0.2; echo 'mire'; echo 'quag''mire' >&2"
p = json.loads(ask("POST", "/v1/processes", json.dumps({"shell": shell})))
said = ask("GET", "/v1/processes/%s/output?offset=0&follow=1&wait=30" % p["id"])
print(b"quag" in said)
`

// A shell session is watched, too. Where nothing was seen, that is said.
func TestNamesThatAShellHasShown(t *testing.T) {
	t.Parallel()
	for script, want := range map[string][]run.HiddenName{
		cliAgent: {{Where: "the sandbox's answers to the agent", Times: 2}},
		strings.ReplaceAll(cliAgent, "'quag", "'llama"): nil,
	} {
		e, exp := blinded(t, script, "cli")
		exp.Serve, exp.Workspace.Libraries = nil, nil
		var out bytes.Buffer
		var told []string
		progress := func(ev engine.Event) { told = append(told, eventtext.Sentence(ev)) }
		result, err := run.Run(t.Context(), e, exp, run.Options{Stdout: &out, Stderr: &out, Progress: progress, Seer: "/bin/true"})
		all := strings.Join(told, "\n")
		if err != nil || result.ExitCode != 0 || !equal(result.HiddenNames, want) {
			t.Fatalf("%+v, %v:\n%s\n%s", result, err, out.String(), all)
		}
		if nothing := "found no name of a hidden model in the agent's output, its results and the answers to it"; strings.Contains(all, nothing) != (want == nil) {
			t.Errorf("told: %s", all)
		}
	}
}
