package event

import (
	"encoding/json"
	"reflect"
)

// Types lists every type of event, by its data without values, in the order in which a run
// passes the stages.
func Types() []Data {
	return []Data{
		PreflightStarted{}, PreflightAccount{}, PreflightWarning{}, PluginPreparing{},
		PluginTrying{},
		FixStarted{}, FixWaiting{}, FixFinished{},
		ModelResolving{}, ModelOmitted{}, ModelReady{}, ModelCacheReadOnly{}, ModelSourceUnreachable{}, ModelFileMismatch{}, ModelCacheCopied{}, ModelDownloadStarted{}, ModelThroughHere{}, HiddenNameCommon{}, HiddenNameShown{},
		HiddenArchitecture{}, HiddenValuesRemoved{},
		MachineStarting{}, MachineMessage{}, MachineWarning{}, PortMoved{}, ImageSaving{},
		ImageSaved{},
		BootStarted{}, SandboxReady{}, SandboxResumed{}, BuildWaiting{}, BuildStarted{},
		BuildFinished{}, InstallStarted{}, InstallFinished{}, DownloadsNotKept{},
		UploadStarted{}, UploadIncomplete{},
		WorkspaceFilling{}, JupyterStarting{}, KernelPreparing{}, JupyterReady{},
		InterpreterPreparing{}, CodeServerStarting{}, CodeServerReady{}, HiddenSearchStarted{},
		HiddenSearchFinished{}, HiddenUnsearched{}, HiddenNotIsolated{},
		SnapshotSaving{}, SnapshotTree{}, SnapshotSaved{}, ProcessNotStopped{},
		ProcessesSaving{}, ProcessesStoring{}, CodeServerRestarting{}, ForksReady{},
		TreeRestoring{}, ProcessesRestoring{}, SnapshotInherited{}, SnapshotOtherPackages{},
		SnapshotOtherPython{},
		ServiceLoading{}, ServiceReady{}, CallQueued{},
		AgentUnconfined{}, AgentCommand{}, ReplayStarted{}, AgentStarted{}, AgentErrorOutput{}, AgentFinished{},
		AgentWarning{}, HiddenNamesSeen{}, HiddenNamesUnseen{},
		MachineEnding{}, SandboxKept{}, SandboxEnding{}, SandboxEnded{},
		Note{},
		Output{Stage: StageFix}, Output{Stage: StageMachine}, Output{Stage: StageBoot},
		Output{Stage: StageSession}, Output{Stage: StageAgent},
		Copied{Stage: StageModel}, Copied{Stage: StageUpload}, Copied{Stage: StageSession},
		Copied{Stage: StageSnapshot},
	}
}

// decode reads the data of a type.
func decode(t Type, text json.RawMessage) (Data, error) {
	for _, known := range Types() {
		if known.Meta().Type != t {
			continue
		}
		value := reflect.New(reflect.TypeOf(known))
		value.Elem().Set(reflect.ValueOf(known)) // with its stage
		if err := json.Unmarshal(text, value.Interface()); err != nil {
			return nil, err
		}
		return value.Elem().Interface().(Data), nil
	}
	return Unknown{t, text}, nil
}
