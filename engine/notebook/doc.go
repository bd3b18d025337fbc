// Package notebook is the engine's side of notebooks: it starts Jupyter with the
// notebook service on a machine ([Start]), talks to that service from anywhere
// ([Client]), and keeps a copy of each notebook on this computer ([Mirror]).
// docs/notebook.md is the contract.
package notebook
