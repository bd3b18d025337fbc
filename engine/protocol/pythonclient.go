package protocol

import _ "embed"

//go:embed client.py
var pythonClient string

// PythonClient is client.py: one file that calls a service from any Python 3.8
// or newer with nothing installed. Its docstring says how a generated module
// uses it.
func PythonClient() []byte { return []byte(pythonClient) }
