package eventtext

// sentences are templates over the data of events, by type.
var sentences = map[string]string{
	"output": `{{.Line}}`,
	"copied": `{{bytes .Bytes}}{{if .Total}} of {{bytes .Total}}{{end}}{{if .Rate}}, {{rate .Rate}}/s{{end}}{{if .Left}}, {{duration .Left}} left{{end}}`,

	"preflight.started":         `checking {{.Experiment}}`,
	"preflight.account":         `account: {{.Provider}}, paid {{if .Credentials}}with {{list .Credentials}}{{else}}without credentials{{end}}`,
	"preflight.warning":         `{{.Message}}`,
	"plugin.preparing":          `preparing the plugin {{.Plugin}}; this is done once`,
	"plugin.trying":             `trying it{{if .Check}}: {{.Check}}{{else}} …{{end}}`,
	"fix.started":               `{{.Name}}: {{.Problem}}`,
	"fix.waiting":               `waiting for another program that installs what is missing`,
	"fix.finished":              `{{.Name}} is installed`,
	"note.shown":                `{{.Word}}: {{.Message}}`,
	"model.resolving":           `resolving {{.Model}}`,
	"model.omitted":             `{{.Model}}: {{plural .Files "file"}} ({{bytes .Bytes}}) in other formats left out`,
	"model.ready":               `{{.Model}}: {{plural .Files "file"}}, {{bytes .Bytes}}`,
	"model.cache_read_only":     `{{.Model}}: the Hugging Face cache {{.Dir}} cannot be written; missing files go to Seer's own cache`,
	"model.source_unreachable":  `{{.Model}}: {{.Reason}}; revision {{.Revision}}, which is on this computer, is used`,
	"model.file_mismatch":       `{{.Model}}: {{.Path}} has not the content that its name promises, and is not used`,
	"model.download_started":    `{{.Model}}: the machine downloads {{plural .Files "file"}}, {{bytes .Bytes}}`,
	"model.through_here":        `{{.Model}}: the files go through this computer to the machine: {{.Reason}}`,
	"model.cache_copied":        `{{.Model}}: {{bytes .Bytes}} are copied from the Hugging Face cache {{.Dir}}, because hard links to it are not possible`,
	"model.hidden_name_common":  `the name {{.Name}} of a hidden model has only common words: Seer does not look for them`,
	"model.hidden_name_shown":   `the name {{.Name}} of a hidden model is also that of its architecture, which has to stay: the agent can see it`,
	"model.hidden_architecture": `the architecture of a hidden model tells {{list .Words}}, which has to stay: the agent can see it`,

	"model.hidden_values_removed": `{{.Model}}: the agent does not see these values: {{some .Values}}`,

	"machine.starting":     `starting a machine on {{.Provider}}{{with .Isolation}}, isolation {{.}}{{end}}`,
	"machine.message":      `{{.Message}}`,
	"machine.warning":      `{{.Message}}`,
	"machine.port_moved":   `port {{.Port}} of the sandbox is at {{.URL}}, because that port of this computer is taken`,
	"machine.image_saving": `saving the file system of {{.Sandbox}}`,
	"machine.image_saved":  `saved as {{.Image}}`,

	"boot.started":            `booting the runtime`,
	"boot.ready":              `sandbox {{.Sandbox}} is ready`,
	"boot.resumed":            `sandbox {{.Sandbox}} continues from {{.Snapshot}}`,
	"boot.build_waiting":      `another start is building the same {{.Part}}; waiting for it`,
	"boot.build_started":      buildStarted,
	"boot.build_finished":     `built {{.Folder}}`,
	"boot.install_started":    `installing {{.Contents}}{{if .System}} into the system{{end}}`,
	"boot.install_finished":   `{{.Contents}}: {{if .Packages}}{{plural .Packages "package"}} {{end}}installed in {{printf "%.0f" .Seconds}} s`,
	"boot.downloads_not_kept": `what pip downloaded is not kept for other builds: {{.Reason}}`,
	"upload.started":          `{{.From}} → {{.To}}`,
	"upload.incomplete":       `upload {{.Path}}: {{.Reason}}`,

	"session.workspace_filling":      `the workspace: {{plural .Files "file"}}`,
	"session.jupyter_starting":       `starting Jupyter`,
	"session.kernel_preparing":       `preparing a kernel{{with .Loading}}, loading {{list .}}{{end}}`,
	"session.jupyter_ready":          `Jupyter is ready at port {{.Port}} ({{.Kernel}})`,
	"session.interpreter_preparing":  `preparing the interpreter{{with .Loading}}, loading {{list .}}{{end}}`,
	"session.vscode_starting":        `starting VS Code`,
	"session.vscode_ready":           `VS Code is ready at port {{.Port}}`,
	"session.hidden_search_started":  `looking for the names of hidden models`,
	"session.hidden_search_finished": unfound,
	"session.hidden_unsearched":      `Seer has not looked for the names of hidden models in all of {{.In}}`,
	"session.hidden_not_isolated":    `{{.Field}} none hides no model: the agent can read its name in the files of this computer`,

	"snapshot.saving":              `saving {{.Sandbox}}`,
	"snapshot.tree_saved":          `{{.Tree}}: {{bytes .Bytes}} in {{plural .Files "file"}}, {{bytes .New}} of it new`,
	"snapshot.saved":               `saved as {{.Snapshot}}`,
	"snapshot.process_not_stopped": `the process {{.PID}} ({{.Name}}) still runs: {{.Reason}}`,
	"snapshot.processes_saving":    `saving the processes of {{.Sandbox}}`,
	"snapshot.processes_storing":   `the sandbox continues; storing its processes`,
	"snapshot.vscode_restarting":   `VS Code is started again meanwhile`,
	"snapshot.forks_ready":         `{{plural .Forks "fork"}} of {{.Sandbox}}`,
	"snapshot.tree_restoring":      `restoring the {{.Tree}}: {{bytes .Bytes}}`,
	"snapshot.processes_restoring": `restoring the processes of {{.Snapshot}}: {{bytes .Bytes}}`,
	"snapshot.inherited":           `the sandbox has {{and .Fields}}, as {{.Snapshot}} had; name another in the experiment to change it`,
	"snapshot.other_packages": `{{.Snapshot}} was saved with other python_packages or repos than this experiment has; ` +
		`what was installed by hand in it may not fit`,
	"snapshot.other_python": `{{.Snapshot}} has packages that were installed for Python {{.Python}}, which this sandbox does not use; ` +
		`install them again, or set sandbox.python_version`,

	"service.loading": `loading {{.File}} as {{.Service}}`,
	"service.ready":   `serving {{.Service}}: {{plural .Functions "function"}}`,
	"call.queued":     callQueued,

	"run.started":         `the folder of the run is {{.Folder}}`,
	"run.plugin":          `plugin {{.ID}} {{.Version}}, sha256:{{.SHA256}}`,
	"run.model":           `{{if .Dataset}}dataset{{else}}model{{end}} {{or .Name "(hidden)"}}, {{.Source}}{{with .Revision}}, revision {{.}}{{end}}`,
	"run.code":            `code of {{.Name}}, {{.CodeHash}}`,
	"run.gpus":            `the sandbox has used GPUs for {{printf "%.0f" .Seconds}} s, and at most {{bytes .Peak}} of their memory`,
	"run.packages":        `{{.Sandbox}} has Python {{.Python}} and {{plural (len .Packages) "package"}}`,
	"run.artifact":        `{{.Kind}}: {{.Path}}`,
	"run.ended":           `the run has {{if eq .State "finished"}}finished{{else}}{{.State}}{{with .Error}}: {{.}}{{end}}{{end}}`,
	"agent.program":       `the agent is {{.Path}}{{with .Version}}, version {{.}}{{end}}{{with .Model}}, model {{.}}{{end}}`,
	"agent.update":        `{{update .Update}}`,
	"agent.turn_ended":    `the agent's turn has ended: {{.Reason}}{{with .Error}}: {{.}}{{end}}`,
	"agent.model_request": `{{.Model}}: {{.Input}} + {{.Output}} tokens, ${{printf "%.4f" .Cost}}, ${{printf "%.2f" .Total}} in all{{with .Error}}: {{.}}{{end}}`,
	"agent.budget_spent":  `agent.budget of ${{printf "%.2f" .Budget}} is spent (${{printf "%.4f" .Total}}): the agent gets no more answers of its model`,
	"agent.server_failed": `the MCP server {{.Server}} of the agent does not work: {{.Problem}}`,

	"agent.unconfined":     `{{.Message}}`,
	"agent.command":        `the agent's command is {{range $i, $word := .Command}}{{if $i}} {{end}}{{quoted $word}}{{end}}`,
	"agent.replay_started": `replaying {{.Folder}}: running the agent, isolation {{.Isolation}}`,
	"agent.started":        agentStarted,
	"agent.error_output":   `{{.Line}}`,
	"agent.finished":       `the agent has finished with exit code {{.ExitCode}}`,
	"agent.warning":        `{{.Message}}`,

	"end.hidden_names_seen":   `the name of a hidden model was seen: {{some .Places}}`,
	"end.hidden_names_unseen": unfound,
	"end.machine_ending":      `the start {{if .Cancelled}}was cancelled{{else}}failed{{end}}; ending the machine`,
	"end.sandbox_kept":        `the sandbox {{.Sandbox}} is kept; end it when it is not needed any more`,
	"end.sandbox_ending":      `ending the sandbox {{.Sandbox}}`,
	"end.sandbox_ended":       `the sandbox {{.Sandbox}} has ended`,
}

const (
	unfound      = `found no name of a hidden model in {{.In}}{{if .Unsearched}}, except in what was not searched{{end}}`
	buildStarted = `{{if eq .Part "base"}}installing {{.Contents}}, once for this Python` +
		`{{else if eq .Part "venv"}}making {{.Contents}}, once for this Python` +
		`{{else if eq .Part "system"}}building the system with {{.Contents}}` +
		`{{else}}building the layer of {{.Contents}}{{end}}; it is kept, and the next start has it`
	callQueued = `waiting for its turn{{if eq .Position 0}}, which is next` +
		`{{else if eq .Position 1}}: 1 call goes first{{else}}: {{.Position}} calls go first{{end}}`
	agentStarted = `running the agent, isolation {{.Isolation}}, network {{.Network}}` +
		`{{with .Memory}}, memory {{printf "%.1f" (gib .)}} GiB{{end}}{{with .Processes}}, {{.}} processes{{end}}` +
		`{{with .CPU}}, {{.}} cores{{end}}{{if .Nested}}, sandboxes of its own{{end}}`
)
