package event

import (
	"encoding/json"
	"reflect"
	"sync"
)

// types has every type of event with its data without values, in the order in which a run passes
// the stages.
var types = []struct {
	name Type
	data Data
}{
	{"run.started", RunStarted{}},
	{"preflight.started", PreflightStarted{}},
	{"preflight.account", PreflightAccount{}},
	{"preflight.warning", PreflightWarning{}},
	{"plugin.preparing", PluginPreparing{}},
	{"plugin.trying", PluginTrying{}},
	{"fix.started", FixStarted{}},
	{"fix.waiting", FixWaiting{}},
	{"fix.finished", FixFinished{}},
	{"model.resolving", ModelResolving{}},
	{"model.omitted", ModelOmitted{}},
	{"model.ready", ModelReady{}},
	{"model.cache_read_only", ModelCacheReadOnly{}},
	{"model.source_unreachable", ModelSourceUnreachable{}},
	{"model.file_mismatch", ModelFileMismatch{}},
	{"model.cache_copied", ModelCacheCopied{}},
	{"model.download_started", ModelDownloadStarted{}},
	{"model.through_here", ModelThroughHere{}},
	{"model.hidden_name_common", HiddenNameCommon{}},
	{"model.hidden_name_shown", HiddenNameShown{}},
	{"model.hidden_architecture", HiddenArchitecture{}},
	{"model.hidden_values_removed", HiddenValuesRemoved{}},
	{"machine.starting", MachineStarting{}},
	{"machine.message", MachineMessage{}},
	{"machine.warning", MachineWarning{}},
	{"machine.port_moved", PortMoved{}},
	{"machine.image_saving", ImageSaving{}},
	{"machine.image_saved", ImageSaved{}},
	{"boot.started", BootStarted{}},
	{"boot.ready", SandboxReady{}},
	{"boot.resumed", SandboxResumed{}},
	{"boot.build_waiting", BuildWaiting{}},
	{"boot.build_started", BuildStarted{}},
	{"boot.build_finished", BuildFinished{}},
	{"boot.install_started", InstallStarted{}},
	{"boot.install_finished", InstallFinished{}},
	{"boot.downloads_not_kept", DownloadsNotKept{}},
	{"upload.started", UploadStarted{}},
	{"upload.incomplete", UploadIncomplete{}},
	{"session.workspace_filling", WorkspaceFilling{}},
	{"session.jupyter_starting", JupyterStarting{}},
	{"session.kernel_preparing", KernelPreparing{}},
	{"session.jupyter_ready", JupyterReady{}},
	{"session.interpreter_preparing", InterpreterPreparing{}},
	{"session.vscode_starting", CodeServerStarting{}},
	{"session.vscode_ready", CodeServerReady{}},
	{"session.hidden_search_started", HiddenSearchStarted{}},
	{"session.hidden_search_finished", HiddenSearchFinished{}},
	{"session.hidden_unsearched", HiddenUnsearched{}},
	{"session.hidden_not_isolated", HiddenNotIsolated{}},
	{"snapshot.saving", SnapshotSaving{}},
	{"snapshot.tree_saved", SnapshotTree{}},
	{"snapshot.saved", SnapshotSaved{}},
	{"snapshot.process_not_stopped", ProcessNotStopped{}},
	{"snapshot.processes_saving", ProcessesSaving{}},
	{"snapshot.processes_storing", ProcessesStoring{}},
	{"snapshot.vscode_restarting", CodeServerRestarting{}},
	{"snapshot.forks_ready", ForksReady{}},
	{"snapshot.tree_restoring", TreeRestoring{}},
	{"snapshot.processes_restoring", ProcessesRestoring{}},
	{"snapshot.inherited", SnapshotInherited{}},
	{"snapshot.other_packages", SnapshotOtherPackages{}},
	{"snapshot.other_python", SnapshotOtherPython{}},
	{"service.loading", ServiceLoading{}},
	{"service.ready", ServiceReady{}},
	{"call.queued", CallQueued{}},
	{"agent.unconfined", AgentUnconfined{}},
	{"agent.command", AgentCommand{}},
	{"agent.replay_started", ReplayStarted{}},
	{"agent.started", AgentStarted{}},
	{"agent.error_output", AgentErrorOutput{}},
	{"agent.program", AgentProgram{}},
	{"agent.update", AgentUpdate{}},
	{"agent.turn_ended", AgentTurnEnded{}},
	{"agent.model_request", ModelRequest{}},
	{"agent.budget_spent", AgentBudgetSpent{}},
	{"agent.server_failed", AgentServerFailed{}},
	{"agent.finished", AgentFinished{}},
	{"agent.warning", AgentWarning{}},
	{"end.hidden_names_seen", HiddenNamesSeen{}},
	{"end.hidden_names_unseen", HiddenNamesUnseen{}},
	{"end.machine_ending", MachineEnding{}},
	{"end.sandbox_kept", SandboxKept{}},
	{"end.sandbox_ending", SandboxEnding{}},
	{"end.sandbox_ended", SandboxEnded{}},
	{"run.plugin", RunPlugin{}},
	{"run.model", RunModel{}},
	{"run.code", RunCode{}},
	{"run.packages", RunPackages{}},
	{"run.gpus", RunGPUs{}},
	{"run.artifact", RunArtifact{}},
	{"run.ended", RunEnded{}},
	{"note.shown", Note{}},
	{Type(StageFix) + ".output", Output{Stage: StageFix}},
	{Type(StageMachine) + ".output", Output{Stage: StageMachine}},
	{Type(StageBoot) + ".output", Output{Stage: StageBoot}},
	{Type(StageSession) + ".output", Output{Stage: StageSession}},
	{Type(StageAgent) + ".output", Output{Stage: StageAgent}},
	{Type(StageModel) + ".copied", Copied{Stage: StageModel}},
	{Type(StageUpload) + ".copied", Copied{Stage: StageUpload}},
	{Type(StageSession) + ".copied", Copied{Stage: StageSession}},
	{Type(StageSnapshot) + ".copied", Copied{Stage: StageSnapshot}},
}

// Types lists every type of event, by its data without values, in the order in which a run
// passes the stages.
func Types() []Data {
	all := make([]Data, len(types))
	for i, t := range types {
		all[i] = t.data
	}
	return all
}

// TypeOf returns the type of events with these data.
func TypeOf(d Data) Type {
	switch d := d.(type) {
	case Output:
		return Type(d.Stage) + ".output"
	case Copied:
		return Type(d.Stage) + ".copied"
	case Unknown:
		return d.Type
	}
	return names()[reflect.TypeOf(d)]
}

var names = sync.OnceValue(func() map[reflect.Type]Type {
	byData := make(map[reflect.Type]Type, len(types))
	for _, t := range types {
		byData[reflect.TypeOf(t.data)] = t.name
	}
	return byData
})

// decode reads the data of a type.
func decode(t Type, text json.RawMessage) (Data, error) {
	for _, known := range types {
		if known.name != t {
			continue
		}
		value := reflect.New(reflect.TypeOf(known.data))
		value.Elem().Set(reflect.ValueOf(known.data)) // with its stage
		if err := json.Unmarshal(text, value.Interface()); err != nil {
			return nil, err
		}
		return value.Elem().Interface().(Data), nil
	}
	return Unknown{Type: t, Raw: text}, nil
}
