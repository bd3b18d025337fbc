package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
)

// shape is what a command prints under --json.
type shape string

const (
	oneObject shape = "object"
	oneList   shape = "list"
	anyOne    shape = "any value"  // what a function returns
	jsonLines shape = "lines"      // a JSON value on each
	serves    shape = "serving"    // an object or a list, and then it goes on until Ctrl-C
	others    shape = "of its own" // no result: a protocol, a terminal, a script for a shell
)

// jsonCase is how a command is tried. Where do is nil, what it prints when it works is
// tried elsewhere: it takes a compiler, a notebook or gVisor.
type jsonCase struct {
	gives shape
	do    []string
	fails []string // with an error that is the command's own
	code  int
}

func jsonCases(registry string) map[string]jsonCase {
	f := strings.Fields
	at := strings.TrimPrefix(registry, "http://")
	return map[string]jsonCase{
		"init":             {oneObject, f("init fresh"), f("init fresh"), 12},
		"run":              {jsonLines, f("run agent.yaml"), f("run none.yaml"), 3},
		"runs ls":          {oneList, f("runs ls"), f("runs ls seer.yaml"), 3},
		"runs show":        {oneObject, f("runs show run-aa00000000 --transcript"), f("runs show nobody"), 4},
		"runs diff":        {oneObject, f("runs diff run-aa00000000 run-aa00000000"), f("runs diff run-aa00000000 nobody"), 4},
		"runs open":        {oneObject, f("runs open run-aa00000000 --print"), f("runs open nobody"), 4},
		"runs export":      {oneObject, f("runs export run-aa00000000 --html -o page.html"), f("runs export nobody --html -o page.html"), 4},
		"runs rm":          {oneList, f("runs rm run-aa00000000 --yes"), f("runs rm nobody --yes"), 4},
		"plan":             {oneObject, f("plan seer.yaml"), f("plan none.yaml"), 3},
		"offers":           {oneList, f("offers --cpu --provider local"), f("offers --provider nobody"), 5},
		"up":               {oneObject, f("up seer.yaml"), f("up bad.yaml"), 3},
		"ls":               {oneList, f("ls --all"), f("ls --state-dir seer.yaml"), 3},
		"show":             {oneObject, f("show lab"), f("show nobody"), 4},
		"snapshot":         {oneObject, f("snapshot lab first"), f("snapshot lab first"), 12},
		"snapshots ls":     {oneList, f("snapshots ls"), f("snapshots ls --state-dir seer.yaml"), 3},
		"snapshots verify": {oneList, f("snapshots verify first"), f("snapshots verify nothing"), 4},
		"snapshots trust":  {oneObject, f("snapshots trust"), f("snapshots trust nothing"), 4},
		"snapshots export": {oneObject, f("snapshots export first first.tar"), f("snapshots export nothing first.tar"), 4},
		"snapshots import": {oneObject, f("snapshots import first.tar --name again"), f("snapshots import seer.yaml"), 3},
		"snapshots rm":     {oneList, f("snapshots rm again"), f("snapshots rm again"), 4},
		"fork":             {oneList, nil, f("fork nobody"), 4},
		"down":             {oneList, f("down other"), f("down nobody"), 4},
		"gc":               {oneObject, f("gc"), f("gc --provider nobody"), 5},
		"exec":             {jsonLines, f("exec lab -- echo hi"), f("exec nobody -- true"), 125},
		"python":           {jsonLines, f("python lab -c print(1)"), f("python nobody -c 1"), 125},
		"shell":            {others, nil, f("shell lab"), 2},
		"cp":               {oneObject, f("cp seer.yaml lab:"), f("cp none lab:"), 4},
		"forward":          {serves, f("forward lab 8000:0"), f("forward nobody 8000"), 4},
		"open":             {oneObject, nil, f("open lab jupyter"), 13},
		"logs":             {jsonLines, f("logs lab"), f("logs lab --service nothing"), 4},
		"usage":            {oneObject, f("usage lab"), f("usage nobody"), 4},
		"watch":            {jsonLines, nil, f("watch nobody"), 4},
		"serve":            {oneObject, f("serve lab tools.py --name tools --out out"), f("serve lab none.py"), 4},
		"call":             {anyOne, f("call lab tools.hello"), f("call lab tools.fail"), 8},
		"calls ls":         {oneList, f("calls ls lab"), f("calls ls nobody"), 4},
		"calls wait":       {anyOne, f("calls wait lab my-call-1"), f("calls wait lab c-none"), 4},
		"calls cancel":     {oneList, f("calls cancel lab my-call-1"), f("calls cancel lab c-none"), 4},
		"token new":        {oneObject, f("token new lab tools --out guest.json"), f("token new lab nothing --out no.json"), 4},
		"token ls":         {oneList, f("token ls lab tools"), f("token ls lab nothing"), 4},
		"token revoke":     {oneList, f("token revoke lab tools TOKEN"), f("token revoke lab tools t-none"), 4},
		"mcp":              {serves, f("mcp --connection guest.json --http 127.0.0.1:0"), f("mcp --connection none.json"), 4},
		"replay":           {jsonLines, f("replay runs/latest"), f("replay none"), 4},
		"config check":     {oneObject, f("config check seer.yaml"), f("config check bad.yaml"), 3},
		"config schema":    {oneObject, f("config schema"), f("config schema more"), 2},
		"plugin ls":        {oneObject, f("plugin ls"), f("plugin ls --plugin-dir="), 2},
		"plugin info":      {oneObject, f("plugin info provider-v1.wasm"), f("plugin info nothing"), 4},
		"plugin install":   {oneObject, f("plugin install ./provider-v1.wasm --grant HASH --no-lock"), f("plugin install ./none.wasm"), 4},
		"plugin uninstall": {oneObject, f("plugin uninstall provider-v1"), f("plugin uninstall nothing"), 4},
		"plugin grant":     {oneObject, f("plugin grant provider-v1.wasm --grant HASH"), f("plugin grant provider-v1.wasm"), 5},
		"plugin revoke":    {oneObject, f("plugin revoke provider-v1"), f("plugin revoke nothing"), 4},
		"plugin audit":     {oneObject, f("plugin audit provider-v1"), f("plugin audit nothing"), 4},
		"plugin policy":    {oneObject, f("plugin policy"), f("plugin policy more"), 2},
		"plugin repin":     {oneObject, f("plugin repin provider-v1"), f("plugin repin"), 2},
		"plugin new":       {oneObject, f("plugin new expose notes"), f("plugin new expose notes"), 12},
		"plugin build":     {oneObject, nil, f("plugin build none"), 3},
		"plugin test":      {oneObject, nil, f("plugin test none.wasm"), 4},
		"plugin dev":       {jsonLines, nil, f("plugin dev none"), 3},
		"plugin sign":      {oneObject, f("plugin sign provider-v1.wasm --key key"), f("plugin sign provider-v1.wasm"), 2},
		"plugin verify":    {oneObject, f("plugin verify provider-v1.wasm"), f("plugin verify none.wasm"), 4},
		"plugin push":      {oneObject, f("plugin push provider-v1.wasm " + at + "/me/v1:2.0.0 --plain-http --key key"), f("plugin push none.wasm " + at + "/me/v1:2"), 4},
		"plugin schema":    {oneObject, f("plugin schema contract"), f("plugin schema nothing"), 2},
		"models pull":      {oneList, nil, f("models pull ./folder"), 3},
		"models ls":        {oneList, f("models ls"), f("models ls more"), 2},
		"models verify":    {oneList, f("models verify"), f("models verify org/none"), 4},
		"models rm":        {oneList, nil, f("models rm org/none"), 4},
		"models gc":        {oneList, f("models gc"), f("models gc more"), 2},
		"models du":        {oneObject, f("models du"), f("models du more"), 2},
		"agent doctor":     {oneList, nil, f("agent doctor none"), 4},
		"agent mock":       {serves, f("agent mock script.yaml"), f("agent mock none.yaml"), 4},
		"engine":           {others, nil, f("engine"), 2},
		"doctor":           {oneList, f("doctor"), f("doctor more"), 2},
		"version":          {oneObject, f("version"), f("version more"), 2},
		"exit-codes":       {gives: others},
		"help":             {gives: others},
		"completion bash":  {gives: others}, "completion zsh": {gives: others}, "completion fish": {gives: others}, "completion powershell": {gives: others},
	}
}

// leaves are all commands that do something.
func leaves(c *cobra.Command) []string {
	if len(c.Commands()) == 0 {
		return []string{strings.TrimPrefix(c.CommandPath(), "seer ")}
	}
	var all []string
	for _, sub := range c.Commands() {
		if sub.Name() != cobra.ShellCompRequestCmd && sub.Name() != cobra.ShellCompNoDescRequestCmd {
			all = append(all, leaves(sub)...)
		}
	}
	return all
}

// TestJSON goes through every command: under --json stdout has the result as JSON and
// nothing else, also of nothing; a failure has an empty stdout, or chunks, and its last
// line on stderr is the error, with the code that the program ends with.
func TestJSON(t *testing.T) {
	t.Parallel()
	root := newRoot(cli.New(os.Stdin, os.Stdout, os.Stderr, cli.Build{}))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	server := httptest.NewServer(&tinyRegistry{puts: map[string][]byte{}})
	defer server.Close()
	cases := jsonCases(server.URL)
	all := leaves(root)
	manual, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(manual), "| command | stdout under `--json` |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, name := range all {
		c, ok := cases[name]
		if !ok {
			t.Errorf("seer %s has no line in this test, which says what it prints under --json", name)
		}
		if c.gives != others && !documented(table, name) {
			t.Errorf("docs/cli.md does not say what seer %s prints under --json", name)
		}
	}
	for name := range cases {
		if !slices.Contains(all, name) {
			t.Errorf("there is no seer %s", name)
		}
	}
	p := newProgram(t)
	p.jsonNothing()
	p.jsonWorld()
	j := &jsonTrial{program: p}
	first := []string{"init", "run", "replay", "plugin info", "serve", "call", "token new", "token ls", "mcp", "snapshot", "snapshots export", "snapshots import"}
	last := []string{"plugin revoke", "plugin uninstall", "down"}
	for _, name := range slices.Concat(first, allBut(all, slices.Concat(first, last)), last) {
		if c := cases[name]; c.do != nil {
			j.works(name, c)
		}
	}
	for _, name := range all {
		if c := cases[name]; c.fails != nil {
			j.fails(name, c)
		}
	}
}

func allBut(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(some, name) })
}

// documented reports whether a row of the table is about a command.
func documented(table, name string) bool {
	family, sub, _ := strings.Cut(name, " ")
	for _, row := range strings.Split(table, "\n") {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		words := regexp.MustCompile("[a-z]+").FindAllString(cell, -1)
		if slices.Contains(words, family) && (sub == "" || slices.Contains(words, sub)) {
			return true
		}
	}
	return false
}

// jsonNothing: lists of nothing are lists.
func (p *program) jsonNothing() {
	p.t.Helper()
	for args, want := range map[string]string{
		"ls": "[]", "ls --all": "[]", "runs ls": "[]", "snapshots ls": "[]", "down --all": "[]",
		"gc": `{"ended":[],"cleaned":[],"forgotten":[],"unrecorded":[],"failed":[]}`,
	} {
		if got := strings.TrimSpace(p.run(append(strings.Fields(args), "--json")...)); got != want {
			p.t.Errorf("seer %s --json of nothing: %s, want %s", args, got, want)
		}
	}
}

// jsonWorld makes what the commands are about.
func (p *program) jsonWorld() {
	p.t.Helper()
	code, err := os.ReadFile("../../engine/plugin/host/testdata/v1/provider-v1.wasm")
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("provider-v1.wasm", string(code))
	p.write("seer.yaml", "name: test\nsandbox: {timeout: 10m}\n")
	p.write("bad.yaml", "name: test\nsandbox: {timeout: soon}\n")
	p.write("tools.py", "@expose\ndef hello():\n    print('hi')\n    return [1]\n\n@expose\ndef fail():\n    raise ValueError('no')\n")
	if err := os.MkdirAll(filepath.Join(p.dir, "runs", "probe-20260102-120000-000001"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.write("runs/probe-20260102-120000-000001/events.jsonl", `{"seq":1,"time":"2026-01-02T12:00:00Z","run":"run-aa00000000000001","source":"engine","type":"run.started","data":{"experiment":"probe"}}`+"\n")
	p.write("script.yaml", "turns: [{say: hello}]\n")
	p.write("agent.yaml", "name: test\nsandbox: {timeout: 10m}\nserve: [{file: tools.py, name: tools}]\nagent: {command: [echo, done]}\n")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(p.dir, "key")).CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
	p.run("up", "seer.yaml", "--name", "lab", "-q")
	p.run("up", "seer.yaml", "--name", "other", "-q")
}

// jsonTrial knows what commands have told, for those after them.
type jsonTrial struct {
	*program
	hash, token string
}

func (j *jsonTrial) arguments(c []string) []string {
	return strings.Fields(strings.NewReplacer("HASH", j.hash, "TOKEN", j.token).Replace("--json " + strings.Join(c, " ")))
}

// works tries a command that works.
func (j *jsonTrial) works(name string, c jsonCase) {
	j.t.Helper()
	if name == "calls ls" { // of which the commands after it tell
		j.run("call", "lab", "tools.hello", "--detach", "--id", "my-call-1")
	}
	var out, said bytes.Buffer
	cmd := j.command(j.arguments(c.do)...)
	cmd.Stdout, cmd.Stderr = &out, &said
	err := error(nil)
	if c.gives == serves {
		err = serving(cmd, &out)
	} else {
		err = cmd.Run()
	}
	if err != nil {
		j.t.Errorf("seer %s: %v\n%s%s", name, err, &out, &said)
		return
	}
	j.events(name, j.onlyJSON(name, said.String()), eventSchema(j.t))
	values := j.onlyJSON(name, out.String())
	if c.gives != jsonLines && len(values) != 1 {
		j.t.Errorf("seer %s prints %d lines, not one: %s", name, len(values), &out)
		return
	}
	for i, v := range values {
		_, isObject := v.(map[string]any)
		_, isArray := v.([]any)
		if c.gives == oneObject && !isObject || c.gives == oneList && !isArray {
			j.t.Errorf("seer %s gives no %s: %s", name, c.gives, &out)
		}
		if path := nullIn(v, ""); path != "" && c.gives != anyOne && !strings.HasSuffix(name, "schema") {
			j.t.Errorf("seer %s: null at %s of line %d: %s", name, path, i, &out)
		}
	}
	j.remember(name, values)
}

// remember keeps what later commands are told.
func (j *jsonTrial) remember(name string, values []any) {
	if m, ok := values[0].(map[string]any); ok && name == "plugin info" {
		j.hash, _ = m["permissions"].(string)
	} else if ok && name == "token new" {
		j.token, _ = m["id"].(string)
	}
}

// serving runs a command until it has told where it serves.
func serving(cmd *exec.Cmd, out *bytes.Buffer) error {
	cmd.Stdout = nil
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	line, rerr := bufio.NewReader(pipe).ReadBytes('\n')
	out.Write(line)
	_ = cmd.Process.Signal(syscall.SIGINT)
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 130) {
		err = nil
	}
	return errors.Join(rerr, err)
}

// fails tries a command that does not work.
func (j *jsonTrial) fails(name string, c jsonCase) {
	j.t.Helper()
	var out, said bytes.Buffer
	cmd := j.command(j.arguments(c.fails)...)
	cmd.Stdout, cmd.Stderr = &out, &said
	_ = cmd.Run() // its code is looked at
	if code := cmd.ProcessState.ExitCode(); code != c.code || out.Len() > 0 && c.gives != oneList {
		j.t.Errorf("seer %s ends with %d, not %d, and prints %q\n%s", strings.Join(c.fails, " "), code, c.code, &out, &said)
	}
	values := j.onlyJSON(name, said.String())
	if len(values) == 0 {
		j.t.Errorf("seer %s fails and does not say why", name)
		return
	}
	last, _ := values[len(values)-1].(map[string]any)
	fault, _ := last["error"].(map[string]any)
	if fault["kind"] == "" || fault["message"] == "" || fault["exit_code"] != float64(c.code) {
		j.t.Errorf("seer %s fails with %v", name, last)
	}
}

// onlyJSON is text as JSON values, one on each line.
func (j *jsonTrial) onlyJSON(name, text string) (values []any) {
	j.t.Helper()
	for line := range strings.Lines(text) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			j.t.Errorf("seer %s: a line that is not JSON: %q", name, line)
		}
		values = append(values, v)
	}
	return values
}

// nullIn is where a value has null, which is no empty list.
func nullIn(v any, path string) string {
	switch v := v.(type) {
	case nil:
		return path
	case []any:
		for _, inner := range v {
			if at := nullIn(inner, path+"[]"); at != "" {
				return at
			}
		}
	case map[string]any:
		for key, inner := range v {
			if at := nullIn(inner, path+"."+key); at != "" {
				return at
			}
		}
	}
	return ""
}
