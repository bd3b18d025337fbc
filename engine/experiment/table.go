package experiment

// Fields is the canonical form of the experiment file.
func Fields() []Field {
	return []Field{
		{Key: "name", Kind: KindString, Note: "the name of the file's folder", Example: "scoped-intro",
			Doc: "Name of the experiment: letters, digits, `.`, `_` and `-`, at most 63 characters."},
		{Key: "sandbox", Kind: KindMap, Doc: "The machine and its contents.", Fields: sandboxFields()},
		{Key: "serve", Kind: KindMaps, Doc: "Interface files with the `@expose`d functions that the agent may call.", Fields: serveFields()},
		{Key: "workspace", Kind: KindMap, Doc: "The folder the agent works in.", Fields: workspaceFields()},
		{Key: "agent", Kind: KindMap, Nullable: true, Note: "nothing is run", Doc: "The program that does the work.", Fields: agentFields()},
		{Key: "outputs", Kind: KindString, Note: "`outputs/` in the folder of the run", Example: "./outputs", Doc: "Folder on this computer where the agent's results are collected."},
		{Key: "runs", Kind: KindString, Default: "./runs", Doc: "Folder on this computer in which each run gets a folder of its own, with its log and its record."},
		{Key: "record", Kind: KindBool, Default: "true", Doc: "Keep every call of a run with its arguments and answer in `record/` of its folder, so that the run can be replayed."},
	}
}

func sandboxFields() []Field { return append(rentFields(), contentFields()...) }

// rentFields say which machine it is.
func rentFields() []Field {
	return []Field{
		{Key: "provider", Kind: KindOneOrAll, Nullable: true, Note: "`local`, unless a GPU is asked for that this computer lacks", Example: "local",
			Doc: "The provider that rents the machine: `local` or a plugin; a list is an order of preference."},
		{Key: "max_wait", Kind: KindDuration, Nullable: true, Note: "5 minutes; 30 for the last choice", Example: "20m",
			Doc: "Longest wait in the queue of each provider. After that, or at once if a provider expects a longer wait, Seer tries the next provider of the list; after the last one the start fails."},
		{Key: "gpu", Kind: KindOneOrAll, Nullable: true, Default: "null", Example: "A100", Doc: "GPU type, or a list in order of preference; `null` for CPU."},
		{Key: "gpu_count", Kind: KindInt, Default: "1", Min: 1, Max: 64, Doc: "Number of GPUs."},
		{Key: "gpu_share", Kind: KindShare, Nullable: true, Note: "the whole GPU", Example: "4", Doc: "Share each GPU with other sandboxes: `4` is a quarter of its memory, `20GB` an amount; local provider only."},
		{Key: "cpu", Kind: KindNumber, Nullable: true, Note: "the provider's", Max: 1024, Example: "0.5", Doc: "Minimum number of cores."},
		{Key: "memory", Kind: KindSize, Nullable: true, Note: "the provider's", Max: maxSize, Example: "16GB", Doc: "Minimum memory, in GiB; `16GB` means 16 GiB."},
		{Key: "disk", Kind: KindSize, Nullable: true, Note: "the provider's", Max: maxSize, Example: "100GB",
			Doc: "Disk of the sandbox itself, in GB; `1TB` means 1024 GB. Its content is deleted with the sandbox."},
		{Key: "region", Kind: KindOneOrAll, Nullable: true, Note: "anywhere", Example: "[us-east, us-west]",
			Doc: "The region of the machine, in the provider's own names; with a list, any of them."},
		{Key: "volumes", Kind: KindMaps, Example: "[{name: weights, path: /models}]", Fields: volumeFields(),
			Doc: "Disks that outlive sandboxes. A missing one is created, and costs money until you delete it."},
		{Key: "max_price", Kind: KindNumber, Nullable: true, Note: "any price", Max: maxMoney, Example: "4.00",
			Doc: "Maximum price of the machine, in USD per hour; more expensive ones are not rented."},
		{Key: "budget", Kind: KindNumber, Nullable: true, Note: "no limit but `timeout`", Max: maxMoney, Example: "10",
			Doc: "Maximum cost of this sandbox, in USD; `timeout` is shortened to fit."},
		{Key: "provider_options", Kind: KindFrees, Example: "{acme: {tier: spot}}",
			Doc: "Options of one provider, under its name; see the provider's page in the docs."},
	}
}

// contentFields say what is on it, and how it is used.
func contentFields() []Field {
	return []Field{
		{Key: "execution_mode", Kind: KindString, Nullable: true, Default: "null", Enum: []string{"notebook", "cli", "local"},
			Doc: "How the agent uses the sandbox: a notebook, a shell, or its own folder; `null` is a scoped sandbox: it may only call what `serve` exposes."},
		{Key: "models", Kind: KindMaps, Short: "name", Example: "[./tiny-model]", Fields: modelFields(),
			Doc: "Models to put under `/models`: a name, or a mapping with the fields below."},
		{Key: "datasets", Kind: KindMaps, Short: "name", Example: "[org/name, ./data]", Fields: datasetFields(),
			Doc: "Datasets to put under `/datasets`: a name, or a mapping with the fields below."},
		{Key: "repos", Kind: KindMaps, Short: "url", Example: "[org/repo]", Fields: repoFields(),
			Doc: "Git repositories to clone into `/workspace`: a URL or `org/repo`, or a mapping with the fields below."},
		{Key: "python_packages", Kind: KindStrings, Example: "[numpy>=1.24]",
			Doc: "Python packages, as pip writes them. Seer does not install again what the base interpreter already has."},
		{Key: "system_packages", Kind: KindStrings, Example: "[git]", Doc: "System (apt) packages."},
		{Key: "python_version", Kind: KindString, Nullable: true, Default: "null", Example: `"3.11"`, Doc: "Version of Python, in quotes."},
		{Key: "image", Kind: KindMap, Nullable: true, Default: "null", Example: "{base: debian:12}", Doc: "File system to start from.", Fields: []Field{
			{Key: "base", Kind: KindString, Example: "python:3.12-slim", Doc: "Base image, as in a registry; it has Python 3.8 or later. On hosts and clusters also the absolute path of an image there: a folder, or a file of squashfs or Apptainer."},
			{Key: "snapshot", Kind: KindString, Doc: "Reference of a file system that was saved at the provider; Seer installs nothing on it. The name of a snapshot on this computer does not belong here."},
			{Key: "commands", Kind: KindStrings, Doc: "Shell commands that change the image, after the packages are installed."},
		}},
		{Key: "secrets", Kind: KindStrings, Example: "[HF_TOKEN]",
			Doc: "Names of secrets; the values come from the environment or from `.env` beside the file. A missing one is an error."},
		{Key: "env", Kind: KindEnv, Example: "{LOG_LEVEL: debug}", Doc: "Environment variables of the sandbox."},
		{Key: "timeout", Kind: KindDuration, Default: "3600", Example: "2h", Doc: "The sandbox ends after this long: seconds, or `90m`, `2h`, `1d`."},
		{Key: "idle_timeout", Kind: KindDuration, Nullable: true, Default: "null", Example: "15m", Doc: "The sandbox ends after this long without use."},
		{Key: "local_files", Kind: KindPairs, Example: "[[./a.txt, /workspace/a.txt]]", Doc: "Files to put into the sandbox.", Fields: pairFields("file")},
		{Key: "local_dirs", Kind: KindPairs, Example: "[[./data, /workspace/data]]", Doc: "Folders to put into the sandbox.", Fields: pairFields("folder")},
		{Key: "ports", Kind: KindInts, Min: 1, Max: 65535, Example: "[8000]", Doc: "Further ports of the sandbox to make reachable."},
		{Key: "jupyter_port", Kind: KindInt, Nullable: true, Note: "8888; on this computer another one where that is taken", Min: 1, Max: 65535, Example: "8888",
			Doc: "Port of Jupyter, with `execution_mode: notebook`."},
		{Key: "debug", Kind: KindBool, Default: "false", Doc: "VS Code (code-server) in the browser."},
		{Key: "debug_port", Kind: KindInt, Nullable: true, Note: "8443; on this computer another one where that is taken", Min: 1, Max: 65535, Example: "8443", Doc: "Port of VS Code."},
		{Key: "isolation", Kind: KindString, Default: "auto", Enum: []string{"auto", "gvisor", "bubblewrap", "none"},
			Doc: "How the local provider isolates the sandbox. `auto` takes `bubblewrap` if it works, else `gvisor`, else `none` with a warning; with `system_packages` or `image.commands` it takes `gvisor` first. Seer never takes a weaker isolation than the one that you name."},
		{Key: "nested_sandbox", Kind: KindBool, Default: "false",
			Doc: "Let code in a local sandbox make namespaces and mounts, for programs with a sandbox of their own (Chromium). It opens more of the kernel to the sandbox. In bubblewrap, root cannot have it."},
		{Key: "network", Kind: KindOneOrAll, Default: "open", Example: "none",
			Doc: "`open` (the Internet, without this computer), `none`, `host` (this computer's own network), or a list of the only hosts that may be reached."},
		{Key: "host_ports", Kind: KindInts, Min: 1024, Max: 65535, Example: "[8000]",
			Doc: "Ports of this computer's `127.0.0.1` that the sandbox reaches at its own `127.0.0.1`; local provider only."},
	}
}

const (
	maxSize  = 1 << 20   // GiB; what is above is more likely a mistake than a wish
	maxMoney = 1_000_000 // USD
)

func volumeFields() []Field {
	return []Field{
		{Key: "name", Kind: KindString, Required: true, Example: "weights", Doc: "Name of the disk at the provider."},
		{Key: "path", Kind: KindString, Required: true, Example: "/models", Doc: "Absolute path in the sandbox."},
		{Key: "size", Kind: KindSize, Nullable: true, Note: "the provider's", Max: maxSize, Example: "50GB", Doc: "Its size when it is made, in GB. A volume for models without one gets the size that they need."},
		{Key: "read_only", Kind: KindBool, Default: "false", Doc: "The sandbox cannot write to it."},
		{Key: "models", Kind: KindBool, Default: "false", Doc: "Rented machines keep models and datasets of the Hub there, in the layout of the Hub's own cache, so that the next machine does not download them. It verifies them. This computer has a cache of its own and no such volume."},
	}
}

func modelFields() []Field {
	return []Field{
		{Key: "name", Kind: KindString, Required: true, Example: "google/gemma-2-9b",
			Doc: "`org/name` on the Hugging Face Hub, `./folder` on this computer, `url:https://host/file#sha256=DIGEST`, `oci:registry/repository:tag`, or `scheme:name` of another fetcher plugin."},
		{Key: "revision", Kind: KindString, Note: "the source's default (Hub: `main`)", Doc: "Branch, tag or commit."},
		{Key: "include", Kind: KindStrings, Note: "the fetcher's choice", Example: `["*.safetensors", "*.json"]`, Doc: includeDoc},
		{Key: "exclude", Kind: KindStrings, Example: `["original/"]`, Doc: excludeDoc},
		{Key: "var_name", Kind: KindString, Doc: "Variable of the model in the notebook or interpreter. Default: `model`, then `model_2`, `model_3` … The tokenizer is `tokenizer` for `model`, else `NAME_tokenizer`."},
		{Key: "hidden", Kind: KindBool, Default: "false", Doc: "Hide the model's name from the agent: in paths, variables, files and texts. Outputs stay as they are; a run reports a name in them."},
		{Key: "is_peft", Kind: KindBool, Default: "false", Doc: "The model is a PEFT/LoRA adapter; needs `base_model`."},
		{Key: "base_model", Kind: KindString, Doc: "Base model of an adapter."},
		{Key: "load_as_peft", Kind: KindBool, Default: "false", Doc: "Load the model wrapped in a blank LoRA adapter."},
		{Key: "dtype", Kind: KindString, Default: "auto", Example: "bfloat16", Doc: "Data type to load in, in a notebook or interpreter."},
		{Key: "device", Kind: KindString, Default: "auto", Example: "cuda", Doc: "Device to load to, in a notebook or interpreter."},
	}
}

const (
	includeDoc = "Patterns of the only files to fetch: `*` and `?` also match a slash, and `folder/` matches everything below it. Not for folders."
	excludeDoc = "Patterns of files to leave out, in the same form; they win over `include`. Not for folders."
)

func datasetFields() []Field {
	return []Field{
		{Key: "name", Kind: KindString, Required: true, Example: "org/name",
			Doc: "`org/name` on the Hugging Face Hub, `./folder` on this computer, or `scheme:name` of a fetcher plugin."},
		{Key: "revision", Kind: KindString, Note: "the source's default (Hub: `main`)", Doc: "Branch, tag or commit."},
		{Key: "include", Kind: KindStrings, Note: "all files", Example: `["train/", "*.json"]`, Doc: includeDoc},
		{Key: "exclude", Kind: KindStrings, Doc: excludeDoc},
	}
}

func repoFields() []Field {
	return []Field{
		{Key: "url", Kind: KindString, Required: true, Doc: "URL, or `org/repo` on GitHub."},
		{Key: "ref", Kind: KindString, Doc: "Branch, tag or commit."},
		{Key: "install", Kind: KindString, Example: "pip install -e .", Doc: "Shell command to run in the clone."},
	}
}

func pairFields(what string) []Field {
	return []Field{
		{Key: "local", Kind: KindString, Required: true, Doc: "The " + what + " on this computer."},
		{Key: "remote", Kind: KindString, Required: true, Doc: "Absolute path in the sandbox."},
	}
}

func serveFields() []Field {
	return []Field{
		{Key: "file", Kind: KindString, Required: true, Example: "interface.py", Doc: "The interface: a Python file with `@expose`d functions."},
		{Key: "expose_as", Kind: KindString, Default: "library",
			Doc: "The form in which the agent gets the functions: `library` (to import), `mcp` (tools), `prompt` (text), `skill` (an agent skill), or the value of an expose plugin."},
		{Key: "name", Kind: KindString, Note: "the file's name without `.py`", Example: "model_tools", Doc: "Name of the library or server; a Python identifier."},
		{Key: "options", Kind: KindFree, Doc: "Options of the expose mode, passed on as they are."},
		{Key: "limits", Kind: KindMap, Doc: "How much the service keeps, and how long.", Fields: limitFields()},
		{Key: "access", Kind: KindMap, Nullable: true, Note: "no limits", Doc: "Limits on what the agent may call; it gets a token of its own.", Fields: accessFields()},
	}
}

func workspaceFields() []Field {
	return []Field{
		{Key: "dir", Kind: KindString, Default: "./workspace", Doc: "The folder; created if it is missing."},
		{Key: "libraries", Kind: KindStrings, Example: "[helpers.py]", Doc: "Python files, package folders and skill folders with code that the agent can import."},
		{Key: "skills", Kind: KindStrings, Example: "[skills/probing]", Doc: "Skill folders, with a `SKILL.md`; they are put where agents look for them."},
		{Key: "skill_dirs", Kind: KindStrings, Example: "[./skills]", Doc: "Folders of skill folders."},
		{Key: "files", Kind: KindStrings, Doc: "Files and folders to copy in."},
		{Key: "dirs", Kind: KindStrings, Doc: "Folders to copy in."},
		{Key: "init", Kind: KindString, Nullable: true, Default: "null", Doc: "Python code to run before the agent starts, in the notebook's kernel, the interpreter of `cli`, or the workspace."},
		{Key: "preload_models", Kind: KindBool, Default: "true", Doc: "Load the models before the agent starts, with `execution_mode: notebook` or `cli`."},
		{Key: "hidden_model_loading", Kind: KindBool, Default: "true", Doc: "Keep the cells that load models out of the notebook."},
	}
}

func agentFields() []Field {
	return []Field{
		{Key: "provider", Kind: KindString, Default: "command", Example: "claude",
			Doc: "Which agent: `claude` (Claude Code), `codex`, `gemini` (Gemini CLI), `opencode`, `acp` (any program that speaks the Agent Client Protocol), `command` (any program), or a profile of your own."},
		{Key: "command", Kind: KindStrings, Example: "[python3, agent.py]", Doc: "The program and its arguments; needed with `provider: command` and `acp`. For other providers, their program, if it is not where Seer looks for it."},
		{Key: "args", Kind: KindStrings, Example: "[--verbose]", Doc: "Further arguments of the program."},
		{Key: "model", Kind: KindString, Example: "claude-sonnet-4-5", Doc: "The agent's language model, as its program names it; default: the program's own choice."},
		{Key: "task", Kind: KindString, Doc: "The task, as text; before `prompt`."},
		{Key: "prompt", Kind: KindString, Doc: "The task, or instructions for it, as text."},
		{Key: "prompt_file", Kind: KindString, Example: "./task.md", Doc: "A file on this computer with the prompt, instead of `prompt`."},
		{Key: "prompts", Kind: KindStrings, Doc: "Further texts for the agent, after `prompt`."},
		{Key: "max_turns", Kind: KindInt, Nullable: true, Note: "no limit", Min: 1, Max: 1_000_000, Example: "100",
			Doc: "Number of answers of the model that the agent may have; one that wants more is stopped. Not with `provider: acp`, whose model Seer does not see."},
		{Key: "timeout", Kind: KindDuration, Nullable: true, Note: "that of the sandbox", Example: "30m", Doc: "The agent is stopped after this long."},
		{Key: "budget", Kind: KindNumber, Nullable: true, Note: "no limit", Max: maxMoney, Example: "5",
			Doc: "Maximum cost of the agent's language model, in USD, as Seer measures it. When it is spent, Seer refuses further requests. Requests under way, at most 64, finish, so the cost can exceed the budget."},
		{Key: "base_url", Kind: KindString, Example: "https://gateway.example.org/anthropic",
			Doc: "Where the language model is, in place of the provider's own address: a gateway, or a server of your own. Your key is sent there."},
		{Key: "secrets", Kind: KindStrings, Example: "[GITHUB_TOKEN]",
			Doc: "Names of secrets that the agent gets as variables; the values come from the environment or from `.env` beside the file. The key of the language model is not one of these: Seer keeps it outside."},
		{Key: "tools", Kind: KindStrings, Example: "[Read, Bash]", Doc: "The only tools of its own that the agent may use, for programs that can limit them; default: all. MCP servers are not limited by it."},
		{Key: "mcp_servers", Kind: KindFrees, Example: "{docs: {command: docs-server, args: [--stdio]}}",
			Doc: "Further MCP servers, by name: `command`, `args` and `env`, started by the agent in its own confinement; or `url` and `headers` of one with Streamable HTTP, which the agent reaches through Seer. `${NAME}` in a header is a variable of the environment or of `.env` beside the file."},
		{Key: "skills", Kind: KindStrings, Example: "[skills/probing]", Doc: "Skill folders for the agent, as `workspace.skills`."},
		{Key: "isolation", Kind: KindString, Default: "auto", Enum: []string{"auto", "gvisor", "bubblewrap", "none"},
			Doc: "How the agent's own process is isolated. `auto` takes `bubblewrap` if it works, else `gvisor`, else `none` with a warning. Seer never takes a weaker isolation than the one that you name."},
		{Key: "memory", Kind: KindSize, Nullable: true, Note: "half of this computer's", Max: maxSize, Example: "8GB",
			Doc: "Memory that the agent's processes may use together, in GiB. Each in-memory folder of the agent, such as `/tmp`, may use a quarter of it."},
		{Key: "cpu", Kind: KindNumber, Nullable: true, Note: "all of this computer's", Max: 1024, Example: "2", Doc: "Number of cores that the agent's processes may use."},
		{Key: "processes", Kind: KindInt, Nullable: true, Note: "4096", Example: "1000", Min: 16, Max: 1 << 20, Doc: "Number of processes and threads that the agent may have at once."},
		{Key: "nested_sandbox", Kind: KindBool, Default: "false",
			Doc: "Let the agent make namespaces and mounts, for programs with a sandbox of their own (Codex, Chromium). It opens more of the kernel to the agent. In bubblewrap, root cannot have it."},
		{Key: "network", Kind: KindString, Default: "none", Enum: []string{"none", "open"}, Doc: "Network of the agent's own process."},
		{Key: "env", Kind: KindEnv, Doc: "Environment variables of the agent."},
	}
}

// stagedFields is what the staged form has at the top in place of sandbox.
func stagedFields() []Field {
	models, _ := field(sandboxFields(), "models")
	image, _ := field(sandboxFields(), "image")
	return []Field{
		{Key: "gpu", Kind: KindMap, Nullable: true, Default: "null", Doc: "The GPU; `null` for CPU.", Fields: []Field{
			{Key: "gpu_type", Kind: KindString, Nullable: true, Example: "A100-80GB", Doc: "Same as `sandbox.gpu`."},
			{Key: "gpu_count", Kind: KindInt, Default: "1", Min: 1, Max: 64, Doc: "Same as `sandbox.gpu_count`."},
			{Key: "use_model_volumes", Kind: KindBool, Default: "false", Doc: "Keep models on a volume of the provider: `true` is `sandbox.volumes: [{name: seer-models, path: /model-volume, models: true}]`. Models are never in the image."},
		}},
		image,
		models,
		{Key: "github_repos", Kind: KindMaps, Short: "url", Fields: repoFields(), Doc: "Same as `sandbox.repos`."},
	}
}
