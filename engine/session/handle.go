package session

import "github.com/seer-engine/seer/engine/machine"

// Handle is a sandbox as programs hand it on: where it is and how to use it.
type Handle struct {
	SandboxID      string `json:"sandbox_id"`
	JupyterURL     string `json:"jupyter_url,omitempty"` // with the token; empty unless its execution mode is notebook
	JupyterPort    int    `json:"jupyter_port,omitempty"`
	JupyterToken   string `json:"jupyter_token,omitempty"`
	JupyterBase    string `json:"jupyter_base,omitempty"`    // the path of Jupyter at every way to its port, with a slash at both ends
	CodeServerURL  string `json:"code_server_url,omitempty"` // with debug
	CodeServerKey  string `json:"code_server_password,omitempty"`
	CodeServerPort int    `json:"code_server_port,omitempty"`
	CodeServerBase string `json:"code_server_base,omitempty"` // as jupyter_base
	Status         string `json:"status"`                     // as [sdk.State]
	Config         any    `json:"config"`                     // the experiment, in its canonical form; null where it is not known
}

// HandleOf reads a sandbox's handle from its record. One that has ended, or that nobody may
// have yet, has no keys in it.
func HandleOf(r machine.Record) Handle {
	state := StateOf(r)
	h := Handle{SandboxID: r.ID, Status: string(r.State)}
	if len(state.Config) > 0 {
		h.Config = state.Config
	}
	if !r.Live() || state.Verifying {
		return h
	}
	if j := state.Jupyter; j != nil {
		h.JupyterPort, h.JupyterToken, h.JupyterBase = j.Port, j.Secret, j.path()
		if address, ok := outside(r, j.Port); ok {
			h.JupyterURL = j.withToken(address)
		}
	}
	if c := state.CodeServer; c != nil {
		h.CodeServerKey, h.CodeServerPort, h.CodeServerBase = c.Secret, c.Port, c.path()
		if address, ok := outside(r, c.Port); ok {
			h.CodeServerURL = address + c.path()
		}
	}
	return h
}

// Handle is [HandleOf] the sandbox.
func (s Session) Handle() (Handle, error) {
	r, _, err := s.State()
	if err != nil {
		return Handle{}, err
	}
	return HandleOf(r), nil
}
