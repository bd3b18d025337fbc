package experiment_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
)

// mistake is a wrong file and the whole message it gives.
type mistake struct {
	text, want string
	schema     bool // whether an editor with the schema sees it too
}

func mistakes() []mistake {
	return []mistake{
		{"name: a b", "1: name: `a b` is not a name; use letters, digits, `.`, `_` and `-`, at most 63, beginning with a letter or digit", false},
		{"name: 7", "1: name: expected a string, got the number `7`; put it into quotes: \"7\"", true},
		{"name: ''", "1: name: the text is empty; give a value or remove the key", true},
		{"name:", "1: name: expected a string, got nothing; give a value or remove the key", true},
		{"sandbox: [a]", "1: sandbox: expected a mapping, got a list", true},
		{"sandbox:\n  modles: []", "2: sandbox: unknown key `modles`; did you mean `models`?", true},
		{"sandbox:\n  Timeout: 5", "2: sandbox: unknown key `Timeout`; did you mean `timeout`?", true},
		{"timeout: 5", "1: unknown key `timeout`; it belongs under `sandbox`", true},
		{"zebra: 5", "1: unknown key `zebra`; known here: name, sandbox, serve, workspace, agent, outputs, runs, record", true},
		{"name: a\nname: b", "2: the key `name` is here twice, first on line 1; keep one of them", false},
		{"sandbox: {gpu: 5}", "1: sandbox.gpu: expected a string, got the number `5`; put it into quotes: \"5\"", true},
		{"sandbox: {gpu: []}", "1: sandbox.gpu: the list is empty; name at least one, or remove the key", true},
		{"sandbox: {gpu: {a: b}}", "1: sandbox.gpu: expected a string, got a mapping", true},
		{"sandbox: {gpu: A100, gpu_count: 0}", "1: sandbox.gpu_count: 0 is out of range; use 1 to 64", true},
		{"sandbox: {gpu_count: two}", "1: sandbox.gpu_count: expected an integer, got the string `two`", true},
		{"sandbox: {gpu: A100, gpu_share: 1}", "1: sandbox.gpu_share: expected a share, got the number `1`; write a number of sandboxes, 2 to 64, or an amount of memory with its unit, such as 20GB", true},
		{"sandbox: {gpu: A100, gpu_share: a quarter}", "1: sandbox.gpu_share: expected a share, got the string `a quarter`; write a number of sandboxes, 2 to 64, or an amount of memory with its unit, such as 20GB", true},
		{"sandbox: {gpu_share: 4}", "1: sandbox.gpu_share: gpu_share needs gpu; name the GPU type, or remove gpu_share", false},
		{"sandbox: {gpu_count: 2}", "1: sandbox.gpu_count: gpu_count needs gpu; name the GPU type, or remove gpu_count", false},
		{"sandbox: {models: ./m}", "1: sandbox.models: expected a list, got the string `./m`; write it as a list: [./m]", true},
		{"sandbox: {models: [7]}", "1: sandbox.models.0: expected a string or a mapping with `name`, got the number `7`", true},
		{"sandbox: {models: [{revision: x}]}", "1: sandbox.models.0.name: this key is missing", true},
		{"sandbox: {models: [~/m]}", "1: sandbox.models.0: `~` is not expanded; write ./folder or the whole path", false},
		{"sandbox: {models: [a/b/c]}", "1: sandbox.models.0: `a/b/c` is not a model; write org/name for the Hub, ./folder for a folder or scheme:name for a plugin", false},
		{"sandbox: {models: ['shelf:']}", "1: sandbox.models.0: `shelf:` names no model; write org/name, ./folder or scheme:name", false},
		{"sandbox:\n  models:\n    - o/a-b\n    - o/a_b", "4: sandbox.models.1: `o/a-b` and `o/a_b` would both be MODEL_O_A_B_PATH; rename one of them, or list it once", false},
		{"sandbox: {models: [./m], env: {MODEL_M_PATH: x}}", "1: sandbox.env.MODEL_M_PATH: the variable is set by the model `./m`; choose another name", false},
		{"sandbox: {models: [{name: ./m, revision: v1}]}", "1: sandbox.models.0.revision: a folder has no revisions; remove it", false},
		{"sandbox: {models: [{name: o/m, base_model: o/b}]}", "1: sandbox.models.0.base_model: base_model is for adapters only; set is_peft: true or remove it", false},
		{"sandbox: {models: [{name: o/m, is_peft: true}]}", "1: sandbox.models.0: is_peft needs base_model; name the model that the adapter was trained on", false},
		{"sandbox: {models: [{name: o/m, var_name: class}]}", "1: sandbox.models.0.var_name: `class` is a Python keyword; choose another name", false},
		{"sandbox:\n  execution_mode: cli\n  models:\n  - name: o/m\n    dtype: blfoat16", "5: sandbox.models.0.dtype: `blfoat16` is not a dtype for a model; use auto, bfloat16, float16, float32 or float64", false},
		{"sandbox: {execution_mode: notebook, models: [{name: o/m, dtype: int8}]}", "1: sandbox.models.0.dtype: `int8` is not a dtype for a model; use auto, bfloat16, float16, float32 or float64", false},
		{"sandbox: {execution_mode: notebook, models: [{name: o/m, device: gpu}]}", "1: sandbox.models.0.device: `gpu` is not a device of torch; use auto, cpu, cuda or cuda:1", false},
		{"sandbox: {execution_mode: notebook, models: [{name: o/m, device: 'cuda:x'}]}", "1: sandbox.models.0.device: `cuda:x` is not a device of torch; use auto, cpu, cuda or cuda:1", false},
		{"sandbox: {models: [{name: o/m, var_name: a-b}]}", "1: sandbox.models.0.var_name: `a-b` is not a Python identifier; use letters, digits and `_`", false},
		{"sandbox: {models: [{name: o/m, hidden: yes}]}", "1: sandbox.models.0.hidden: expected true or false, got the string `yes`", false},
		{"sandbox: {models: [{name: o/m, nmae: x}]}", "1: sandbox.models.0: unknown key `nmae`; did you mean `name`?", true},
		{"sandbox: {python_version: 3.10}", "1: sandbox.python_version: expected a string, got the number `3.10`; put it into quotes: \"3.10\"", true},
		{"sandbox: {secrets: [A B]}", "1: sandbox.secrets.0: not the name of a variable; list the names of variables, not their values", false},
		{"sandbox: {secrets: [A, A]}", "1: sandbox.secrets.1: `A` is listed twice; keep one of them", false},
		{"sandbox: {secrets: [A], env: {A: x}}", "1: sandbox.secrets.0: `A` is in env as well; keep one of them", false},
		{"sandbox: {env: {A: [x]}}", "1: sandbox.env.A: expected a string, a number, true or false, got a list", true},
		{"sandbox: {env: {A-B: x}}", "1: sandbox.env.A-B: `A-B` is not the name of a variable; use letters, digits and `_`, not beginning with a digit", false},
		{"sandbox: {env: {SEER_X: x}}", "1: sandbox.env.SEER_X: names that begin with SEER_ are Seer's own; choose another name", false},
		{"sandbox: {timeout: soon}", "1: sandbox.timeout: expected a duration, got the string `soon`; write seconds, or 90m, 2h, 1d", true},
		{"sandbox: {timeout: 0}", "1: sandbox.timeout: `0` is shorter than a second; write seconds, or 90m, 2h, 1d", true},
		{"sandbox: {timeout: -5m}", "1: sandbox.timeout: `-5m` is shorter than a second; write seconds, or 90m, 2h, 1d", true},
		{"sandbox: {timeout: 3600000}", "1: sandbox.timeout: `3600000` is longer than 30 days; write seconds, or 90m, 2h, 1d", true},
		{"sandbox: {timeout: 1.5}", "1: sandbox.timeout: expected a duration, got the number `1.5`; write seconds, or 90m, 2h, 1d", true},
		{"sandbox: {idle_timeout: 2h}", "1: sandbox.idle_timeout: it is longer than timeout; make it shorter, or remove it", false},
		{"sandbox: {local_files: [a]}", "1: sandbox.local_files.0: expected a pair [local, remote], got the string `a`", true},
		{"sandbox: {local_files: [[a]]}", "1: sandbox.local_files.0: expected a pair [local, remote], got a list", true},
		{"sandbox: {local_files: [{local: a}]}", "1: sandbox.local_files.0.remote: this key is missing", true},
		{"sandbox: {local_files: [[a, b]]}", "1: sandbox.local_files.0.1: `b` is not absolute; begin it with /, for example /workspace/b", false},
		{"sandbox: {local_dirs: [[a, /w/../b]]}", "1: sandbox.local_dirs.0.1: `/w/../b` is not a plain path; write `/b`", false},
		{"sandbox: {local_dirs: [[a, /]]}", "1: sandbox.local_dirs.0.1: `/` is not free; use a place under /workspace", false},
		{"sandbox: {local_files: [[a, /etc/passwd]]}", "1: sandbox.local_files.0.1: `/etc/passwd` belongs to the system; use a place under /workspace", false},
		{"sandbox: {ports: [0]}", "1: sandbox.ports.0: 0 is out of range; use 1 to 65535", true},
		{"sandbox: {ports: [80, 80]}", "1: sandbox.ports.1: port 80 is listed twice; keep one of them", false},
		{"sandbox: {jupyter_port: 8888}", "1: sandbox.jupyter_port: Jupyter needs execution_mode notebook; set execution_mode: notebook, or remove jupyter_port", false},
		{"sandbox: {execution_mode: notebook, jupyter_port: 99999}", "1: sandbox.jupyter_port: 99999 is out of range; use 1 to 65535", true},
		{"sandbox: {debug_port: 8080}", "1: sandbox.debug_port: VS Code needs debug: true; set debug: true, or remove debug_port", false},
		{"sandbox: {execution_mode: notebook, debug: true, jupyter_port: 8080, debug_port: 8080}", "1: sandbox.debug_port: port 8080 is that of jupyter_port; give each its own", false},
		{"sandbox: {debug: true, debug_port: 80, ports: [80]}", "1: sandbox.debug_port: port 80 is that of ports.0; give each its own", false},
		{"sandbox: {debug: 1}", "1: sandbox.debug: expected true or false, got the number `1`", true},
		{"sandbox: {isolation: docker}", "1: sandbox.isolation: `docker` is not known; use auto, gvisor, bubblewrap or none", true},
		{"sandbox: {execution_mode: jupyter}", "1: sandbox.execution_mode: `jupyter` is not known; use notebook, cli, local or null", true},
		{"serve: [{expose_as: mcp}]", "1: serve.0.file: this key is missing", true},
		{"serve: [interface.py]", "1: serve.0: expected a mapping, got the string `interface.py`", true},
		{"serve: [{file: tools.txt, name: t}]", "1: serve.0.file: `tools.txt` is not a Python file; serve a file that ends with .py", false},
		{"serve: [{file: my-tools.py}]", "1: serve.0.name: `my-tools` is not a Python identifier; set name: to letters, digits and `_`, as in model_tools", false},
		{"serve: [{file: a.py, name: class}]", "1: serve.0.name: `class` is a Python keyword; set another name:, as in model_tools", false},
		{"serve: [{file: json.py}]", "1: serve.0.name: `json` is a module of Python itself, which it would hide; set another name:, as in json_tools", false},
		{"serve:\n- file: a.py\n  access: {rate: fast}", "3: serve.0.access.rate: `fast` is not a rate; write it as 60/min, 5/s or 100/12h", true},
		{"serve:\n- file: a.py\n  access: {rate: 0/min}", "3: serve.0.access.rate: `0/min` allows nothing; write it as 60/min, 5/s or 100/12h", false},
		{"serve:\n- file: a.py\n  access: {calls: 0}", "3: serve.0.access.calls: 0 is out of range; use 1 to 1000000000", true},
		{"serve:\n- file: a.py\n  access: {spend: -1}", "3: serve.0.access.spend: `-1` is not above zero; give a value above zero, or remove the key", true},
		{"serve:\n- file: a.py\n  access: {function: [f]}", "3: serve.0.access: unknown key `function`; did you mean `functions`?", true},
		{"serve:\n- file: a.py\n  access:\n    functions: [f]\n    arguments: {g: {x: {maximum: 1}}}", "5: serve.0.access.arguments.g: `g` is not one of the functions that may be called; add it to functions, or remove its bounds", false},
		{"serve:\n- file: a.py\n  access:\n    arguments:\n      g:\n        x: 5", "6: serve.0.access.arguments.g.x: expected a mapping; write it as {maximum: 512}", false},
		{"serve:\n- file: a.py\n  access:\n    arguments:\n      g:\n        x: {maximum: 5,\n         max: 6}", "7: serve.0.access.arguments.g.x.max: `max` cannot bound an argument; known here: type, enum, const, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, pattern, minItems, maxItems, items", false},
		{"serve:\n- file: a.py\n  limits: {keep: soon}", "3: serve.0.limits.keep: expected a duration, got the string `soon`; write seconds, or 90m, 2h, 1d", true},
		{"serve:\n- file: a.py\n  limits: {handle_size: 0}", "3: serve.0.limits.handle_size: `0` is not above zero; give a value above zero, or remove the key", true},
		{"serve: [{file: a.py}, {file: b.py, name: a}]", "1: serve.1.name: `a` is served twice; give each its own name", false},
		{"workspace: {libraries: helpers.py}", "1: workspace.libraries: expected a list, got the string `helpers.py`; write it as a list: [helpers.py]", true},
		{"workspace: {libraries: [~/x.py]}", "1: workspace.libraries.0: `~` is not expanded; write the whole path, or one from the folder of this file", false},
		{"agent: {prompt: hi}", "1: agent.command: provider command needs a command; for example command: [python3, agent.py]", false},
		{"agent: {command: python3 agent.py}", "1: agent.command: expected a list, got the string `python3 agent.py`; write it as a list: [python3, agent.py]", true},
		{"agent: {command: [python3, 5]}", "1: agent.command.1: expected a string, got the number `5`; put it into quotes: \"5\"", true},
		{"agent: {command: [a], network: maybe}", "1: agent.network: `maybe` is not known; use none or open", true},
		{"gpu: {gpu_type: A100}\nsandbox: {}\nmodels: []", "1: the file mixes two forms: `gpu`, `models` at the top and `sandbox`; move `gpu`, `models` under `sandbox`", true},
		{"gpu: A100", "1: gpu: expected a mapping, got the string `A100`", true},
		{"name: a\ngpu: {gpu_typ: A100}", "2: gpu: unknown key `gpu_typ`; did you mean `gpu_type`?", true},
		{"gpu: {gpu_type: A100, gpu_count: 900}", "1: gpu.gpu_count: 900 is out of range; use 1 to 64", true},
		{"sandbox: {execution_mode: cli, models: [{name: o/m, hidden: true}], volumes: [{name: v, path: /cache, models: true}]}", "1: sandbox.volumes.0.models: the agent could read the names of hidden models there; remove it, or set hidden: false", false},
		{"sandbox: {models: [{name: o/m, dtype: bfloat16}]}", "1: sandbox.models.0.dtype: Seer loads models only with execution_mode notebook or cli; do it where the interface loads the model, or set execution_mode", false},
		{"sandbox: {models: [{name: o/m, device: cuda}]}", "1: sandbox.models.0.device: Seer loads models only with execution_mode notebook or cli; do it where the interface loads the model, or set execution_mode", false},
		{"sandbox: {execution_mode: local, models: [{name: o/m, load_as_peft: true}]}", "1: sandbox.models.0.load_as_peft: Seer loads models only with execution_mode notebook or cli; do it where the interface loads the model, or set execution_mode", false},
		{"sandbox: {execution_mode: cli, models: [{name: o/m, var_name: model}, {name: o/n, var_name: model}]}", "1: sandbox.models.1.var_name: the variable `model` is already that of `o/m`; give each model a var_name of its own", false},
		{"sandbox: {execution_mode: cli, models: [{name: o/m, var_name: a}, {name: o/n, var_name: a_tokenizer}]}", "1: sandbox.models.1.var_name: the variable `a_tokenizer` is already that of `o/m`; give each model a var_name of its own", false},
		{"sandbox: {execution_mode: notebook, models: [{name: o/m, is_peft: true, base_model: o/b, load_as_peft: true}]}", "1: sandbox.models.0.load_as_peft: an adapter is one already; remove one of is_peft and load_as_peft", false},
		{"workspace: {skill_dirs: [~/s]}", "1: workspace.skill_dirs.0: `~` is not expanded; write the whole path, or one from the folder of this file", false},
		{"sandbox: {provider: [modal, runpod, modal]}", "1: sandbox.provider.2: `modal` is listed twice; keep one of them", false},
		{"sandbox: {gpu: [H100, A100, h100]}", "1: sandbox.gpu.2: `h100` is listed twice; keep one of them", false},
		{"sandbox: {provider: []}", "1: sandbox.provider: the list is empty; name at least one, or remove the key", true},
		{"sandbox: {cpu: 0}", "1: sandbox.cpu: `0` is not above zero; give a value above zero, or remove the key", true},
		{"sandbox: {cpu: -2.5}", "1: sandbox.cpu: `-2.5` is not above zero; give a value above zero, or remove the key", true},
		{"sandbox: {cpu: four}", "1: sandbox.cpu: expected a number, got the string `four`", true},
		{"sandbox: {cpu: 5000}", "1: sandbox.cpu: `5000` is out of range; use at most 1024", true},
		{"sandbox: {cpu: .inf}", "1: sandbox.cpu: expected a number, got the number `.inf`", false},
		{"sandbox: {memory: lots}", "1: sandbox.memory: expected a size, got the string `lots`; write GiB, or 512MB, 16GB, 1TB", true},
		{"sandbox: {memory: [16]}", "1: sandbox.memory: expected a size, got a list", true},
		{"sandbox: {disk: 0GB}", "1: sandbox.disk: `0GB` is not above zero; give a value above zero, or remove the key", false},
		{"sandbox: {disk: 1e30}", "1: sandbox.disk: `1e30` is out of range; use at most 1048576", true},
		{"sandbox: {disk: 99999999TB}", "1: sandbox.disk: `99999999TB` is out of range; use at most 1048576", false},
		{"sandbox: {max_price: $4}", "1: sandbox.max_price: expected a number, got the string `$4`", true},
		{"sandbox: {budget: .nan}", "1: sandbox.budget: expected a number, got the number `.nan`", false},
		{"sandbox: {region: {eu: 1}}", "1: sandbox.region: expected a string, got a mapping", true},
		{"sandbox: {volumes: [{name: w}]}", "1: sandbox.volumes.0.path: this key is missing", true},
		{"sandbox: {volumes: [weights]}", "1: sandbox.volumes.0: expected a mapping, got the string `weights`", true},
		{"sandbox: {volumes: [{name: a/b, path: /data}]}", "1: sandbox.volumes.0.name: `a/b` is not a name; use letters, digits, `.`, `_` and `-`, at most 63, beginning with a letter or digit", false},
		{"sandbox: {volumes: [{name: w, path: data}]}", "1: sandbox.volumes.0.path: `data` is not absolute; begin it with /, for example /data", false},
		{"sandbox: {volumes: [{name: w, path: /data/}]}", "1: sandbox.volumes.0.path: `/data/` is not a plain path; write `/data`", false},
		{"sandbox: {volumes: [{name: w, path: /usr/lib}]}", "1: sandbox.volumes.0.path: `/usr/lib` belongs to the system; use a place of its own, such as /data, or /models", false},
		{"sandbox: {volumes: [{name: w, path: /data}, {name: w, path: /other}]}", "1: sandbox.volumes.1.name: `w` is listed twice; give each disk one place", false},
		{"sandbox: {volumes: [{name: a, path: /data}, {name: b, path: /data}]}", "1: sandbox.volumes.1.path: `/data` is in the volume `a`; choose another place", false},
		{"sandbox: {volumes: [{name: a, path: /data/x}, {name: b, path: /data}]}", "1: sandbox.volumes.0.path: `/data/x` is in the volume `b`; choose another place", false},
		{"sandbox: {volumes: [{name: w, path: /workspace, read_only: true}]}", "1: sandbox.volumes.0.read_only: the sandbox works in /workspace; remove read_only, or choose another place", false},
		{"sandbox: {models: [./m], volumes: [{name: w, path: /models/m}]}", "1: sandbox.volumes.0.path: `/models/m` is the place of the model `./m`; use /models, or a place of its own", false},
		{"sandbox: {models: [./m], volumes: [{name: w, path: /models, read_only: true}]}", "1: sandbox.volumes.0.read_only: the model `./m` is put there; remove read_only, or choose another place", false},
		{"sandbox: {local_files: [[a, /data/a]], volumes: [{name: w, path: /data, read_only: true}]}", "1: sandbox.volumes.0.read_only: `a` is copied there; remove read_only, or choose another place", false},
		{"sandbox: {local_dirs: [[d, /data]], volumes: [{name: w, path: /data/x}]}", "1: sandbox.volumes.0.path: `d` is copied to `/data`; choose another place", false},
		{"sandbox:\n  provider: runpod\n  provider_options:\n    modal: {app: x}", "4: sandbox.provider_options.modal: `modal` is not a provider of this experiment; use runpod, or name it under provider", false},
		{"sandbox: {provider_options: {modal: x}}", "1: sandbox.provider_options.modal: expected a mapping, got the string `x`", true},
		{"sandbox: {provider_options: {modal: {x: .nan}}}", "1: sandbox.provider_options.modal: a value is not a number that can be passed on; write it as text, in quotes", false},
		{"sandbox: {python_version: '2.7'}", "1: sandbox.python_version: `2.7` is not a version of Python 3; write for example \"3.12\"", false},
		{"sandbox: {python_version: 3.10}", "1: sandbox.python_version: expected a string, got the number `3.10`; put it into quotes: \"3.10\"", true},
		{"sandbox: {system_packages: ['git; rm']}", "1: sandbox.system_packages.0: `git; rm` is not the name of a package; write it as apt has it, for example libgl1", false},
		{"sandbox: {image: {base: 'a b'}}", "1: sandbox.image.base: `a b` is not the name of an image; write for example debian:12", false},
		{"sandbox: {image: {snapshot: im-1, base: x}}", "1: sandbox.image.base: a snapshot has everything already; remove base or image.snapshot", false},
		{"sandbox: {image: {snapshot: im-1}, python_packages: [numpy]}", "1: sandbox.python_packages: a snapshot has everything already; remove python_packages or image.snapshot", false},
		{"image: {snapshot: im-1, commands: [ls]}", "1: image.commands: a snapshot has everything already; remove commands or image.snapshot", false},
		{"sandbox: {network: host, host_ports: [8000]}", "1: sandbox.host_ports.0: network host reaches all ports of this computer; remove host_ports, or set network: open", false},
		{"sandbox: {host_ports: [80]}", "1: sandbox.host_ports.0: 80 is out of range; use 1024 to 65535", true},
		{"sandbox: {ports: [8000], host_ports: [8000]}", "1: sandbox.host_ports.0: port 8000 of the sandbox is that of ports; give each its own", false},
		{"sandbox: {execution_mode: notebook, host_ports: [8888]}", "1: sandbox.host_ports.0: port 8888 of the sandbox is that of Jupyter; set jupyter_port to another one; give each its own", false},
		{"sandbox: {network: [example]}", "1: sandbox.network.0: `example` is not a host; use open, none, host or a list such as [example.org]", false},
		{"a: !!python/object:x 5", "1: a: the YAML tag `!!python/object:x` is not understood; leave the tag out", false},
		{"? {a: b}\n: c", "1: a key must be a plain word", false},
		{"name: a: b", "1: not valid YAML: mapping values are not allowed in this context; check the indentation, and put a value with `: ` in it into quotes", false},
		{"sandbox:\n\ttimeout: 5", "2: not valid YAML: found character that cannot start any token; indent with spaces, not with tabs", false},
		{"name: *nobody", "1: not valid YAML: unknown anchor 'nobody' referenced", false},
		{"sandbox:\n  ports: [1, 2", "2: not valid YAML: did not find expected ',' or ']'; check the indentation, the brackets and the quotes", false},
	}
}

func TestMistakes(t *testing.T) {
	for _, m := range mistakes() {
		_, err := parse(m.text)
		want := "/lab/intro/e.yaml:" + m.want
		if err == nil || !strings.Contains("\n"+err.Error()+"\n", "\n"+want+"\n") {
			t.Errorf("%q:\n got %v\nwant %s", m.text, err, want)
			continue
		}
		if lines := strings.Split(err.Error(), "\n"); len(lines) != 1 && !strings.HasPrefix(m.text, "a: !!") {
			t.Errorf("%q: one mistake gave %d messages:\n%v", m.text, len(lines), err)
		}
	}
}

func TestAllMistakesAtOnceInTheOrderOfTheFile(t *testing.T) {
	var text strings.Builder
	var want []string
	for i := range 20 {
		fmt.Fprintf(&text, "zebra%d: 1\n", i)
		want = append(want, fmt.Sprintf("e.yaml:%d: unknown key `zebra%d`", i+1, i))
	}
	_, err := parse(text.String()+"serve: [{file: code.py}]\n", "sandbox.gpu_count=x", "nonsense")
	var all experiment.Errors
	if !errors.As(err, &all) || len(all) != 23 {
		t.Fatalf("got %v", err)
	}
	want = append(want, "e.yaml:21: serve.0.name: `code` is a module of Python itself", "override nonsense: expected KEY=VALUE", "override sandbox.gpu_count: expected an integer")
	for i, w := range want {
		if !strings.Contains(all[i].Error(), w) {
			t.Errorf("message %d is %s, want %s", i, all[i], w)
		}
	}
}

func TestAliases(t *testing.T) {
	exp, err := parse("sandbox: &s\n  env: &e {A: x}\nagent:\n  command: [run]\n  env: {<<: *e, B: y}\n")
	if err != nil || exp.Agent.Env["A"] != "x" || exp.Agent.Env["B"] != "y" {
		t.Errorf("got %+v, %v", exp, err)
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), c-1)
	}
	if _, err := parse(bomb); err == nil || !strings.Contains(err.Error(), "aliases expand to too much") {
		t.Errorf("a bomb gave %v", err)
	}
	if _, err := parse("a: &a [*a]\n"); err == nil {
		t.Error("a list within itself was accepted")
	}
	if _, err := parse(strings.Repeat("[", 500) + strings.Repeat("]", 500)); err == nil {
		t.Error("deep nesting was accepted")
	}
}

func TestMistakesOfServersWithAnAddress(t *testing.T) {
	for server, want := range map[string]string{
		"{url: 'https://me:key@docs.example/mcp'}":       "`url` is not an address of a server; write https://host/path",
		"{url: 'https://docs.example', command: x}":      "it has `command` beside `url`; servers with an address have url and headers; Streamable HTTP is the only way to them",
		"{url: 'https://docs.example', headers: [A]}":    "`headers` must map names to texts; for example {Authorization: \"Bearer ${DOCS_TOKEN}\"}",
		"{url: 'https://docs.example', headers: {A: 5}}": "the header `A` is no text; for example {Authorization: \"Bearer ${DOCS_TOKEN}\"}",
	} {
		_, err := parse("agent: {command: [a], mcp_servers: {d: " + server + "}}")
		if err == nil || !strings.HasSuffix(err.Error(), "agent.mcp_servers.d: "+want) || strings.Contains(err.Error(), "key@") {
			t.Errorf("%s: %v", server, err)
		}
	}
}
