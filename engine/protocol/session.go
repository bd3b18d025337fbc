package protocol

// SessionKind says what a session token is for. All open the same routes.
type SessionKind string

// SessionShell is the session of an agent that uses the sandbox by commands and files.
const SessionShell SessionKind = "shell"

// SessionInfo is a session token as the runtime tells it.
type SessionInfo struct {
	ID          string      `json:"id"`
	Kind        SessionKind `json:"kind"`
	CreatedUnix int64       `json:"created_unix"`
}

// SessionSpec is what a runtime is told of a session token.
type SessionSpec struct {
	TokenSHA256 string      `json:"token_sha256"` // hex; see [HashToken]
	Kind        SessionKind `json:"kind"`
}
