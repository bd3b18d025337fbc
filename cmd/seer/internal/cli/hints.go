package cli

import (
	"cmp"

	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

// Hint is the command, or the flag of the command that failed, that carries out a remedy.
// It is empty for an action that the command line does not know.
func Hint(r remedy.Remedy) string {
	if fixed, ok := map[remedy.Action]string{
		remedy.ListSandboxes:    "seer ls",
		remedy.RunExperiment:    "seer run FILE",
		remedy.InitExperiment:   "seer init",
		remedy.WaitForGPU:       "--wait",
		remedy.CollectGarbage:   "seer gc",
		remedy.ShowOffers:       "seer offers",
		remedy.AllowUnguarded:   "--unguarded",
		remedy.ListSnapshots:    "seer snapshots ls",
		remedy.SaveLive:         "--live",
		remedy.FixHost:          "seer doctor --fix",
		remedy.NamePluginFolder: "--plugin-dir FOLDER",
		remedy.NewPlugin:        "seer plugin new",
		remedy.BuildPlugin:      "seer plugin build",
		remedy.SignPlugin:       "seer plugin sign",
		remedy.ChooseFolder:     "--dir FOLDER",
		remedy.ChooseOutput:     "--out FOLDER",
		remedy.AllowPlainHTTP:   "--plain-http",
	}[r.Action]; ok {
		return fixed
	}
	return command(r)
}

// command is the hint of a remedy with arguments. What only the user knows is in capitals.
func command(r remedy.Remedy) string {
	sandbox := cmp.Or(r.Sandbox, "ID")
	switch r.Action {
	case remedy.EndSandbox:
		return "seer down " + sandbox
	case remedy.ShowSandbox:
		return "seer show " + sandbox
	case remedy.StartSandbox:
		if r.Snapshot != "" {
			return "seer up FILE --snapshot " + r.Snapshot
		}
		return "seer up FILE"
	case remedy.ForwardPort:
		return "seer forward " + sandbox + " " + r.Port
	case remedy.SaveSnapshot:
		return "seer snapshot " + sandbox + " NAME"
	case remedy.SaveImage:
		return "seer snapshot " + sandbox
	case remedy.RemoveSnapshot:
		return "seer snapshots rm " + r.Snapshot
	case remedy.SetFolder:
		return "--set " + r.Field + "=FOLDER"
	case remedy.SetText:
		return "--set-string " + r.Field + "=…"
	}
	return pluginCommand(r)
}

func pluginCommand(r remedy.Remedy) string {
	switch r.Action {
	case remedy.InstallPlugin:
		return "seer plugin install " + cmp.Or(r.Plugin, "REF")
	case remedy.InstallLocked:
		return "seer plugin install --lock " + term.ShellQuoted(cmp.Or(r.Folder, "."))
	case remedy.GrantPlugin:
		return "seer plugin grant " + cmp.Or(r.Plugin, "ID")
	case remedy.GrantFolder:
		return "seer plugin grant --folder " + term.ShellQuoted(r.Folder)
	case remedy.ConfirmGrant:
		return "--grant " + r.Hash
	case remedy.AcceptSigner:
		text := "seer plugin repin " + r.Plugin
		if r.Signer != "" {
			text += " --signer " + r.Signer
		}
		return text
	}
	return ""
}

// Hints are the commands that carry out the remedies.
func Hints(remedies []remedy.Remedy) []string {
	var all []string
	for _, r := range remedies {
		if text := Hint(r); text != "" {
			all = append(all, text)
		}
	}
	return all
}

func eventHints(e engine.Event) []string { return Hints(e.Remedies()) }

// Text is an error with its hints, one in a line.
func Text(err error) string { return withHints(AsTyped(err.Error()), err) }

func withHints(text string, err error) string {
	for _, hint := range Hints(remedy.Of(err)) {
		text += "\nhint: " + hint
	}
	return text
}

// override is how the engine names an assignment of --set.
var override = lazyregexp.New(`(?m)(^|\(|: )override (\S+?)(: |\))`)

// AsTyped calls an override what the user has typed.
func AsTyped(text string) string { return override().ReplaceAllString(text, "$1--set $2$3") }
