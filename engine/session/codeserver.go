package session

import (
	"context"
	"fmt"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/engine/event"
)

// CodeServer says how VS Code is started on a machine.
type CodeServer struct {
	Program *codeserver.Program // of this computer; nil = the machine's own
	Shown   bool                // the machine has a file tree of its own, in which Program is mounted
	SHA256  string              // of the program that a machine downloads; empty = the pinned one
}

func (s Starter) startCodeServer(ctx context.Context) error {
	s.Report.Send(event.CodeServerStarting{})
	base := newBase()
	server, err := codeserver.Start(ctx, s.Client, codeserver.Spec{
		Base: base, Program: s.CodeServer.Program, Shown: s.CodeServer.Shown, Port: s.port(s.Experiment.Sandbox.DebugPort, codeserver.DefaultPort),
		IP: s.listenIP(), SHA256: s.CodeServer.SHA256,
	}, func(line string) { s.Report.Output(event.StageSession, line) })
	if err != nil {
		return fmt.Errorf("start VS Code: %w", err)
	}
	err = s.Update(ctx, func(state *State) {
		state.CodeServer = &Endpoint{Port: server.Port, Secret: server.Password, Base: base}
	})
	if err != nil {
		return err
	}
	s.Report.Send(event.CodeServerReady{Port: server.Port})
	return nil
}

// RestartCodeServer starts VS Code again at an endpoint, in a sandbox of this computer with
// a file tree of its own. find looks for the program.
func (s Session) RestartCodeServer(ctx context.Context, at Endpoint, find func() (codeserver.Program, error)) error {
	found, err := find()
	if err != nil {
		return err
	}
	_, err = codeserver.Start(ctx, s.Client, codeserver.Spec{Program: &found, Shown: true, Port: at.Port, Password: at.Secret, Base: at.Base}, nil)
	return err
}
