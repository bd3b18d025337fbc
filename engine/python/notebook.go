package python

import "embed"

// Notebook is the notebook service that docs/notebook.md describes: the package
// seer_notebook, which needs jupyter_server, ipykernel and nbformat beside it. It is
// put into a folder as it is and started as python3 -m seer_notebook --config FILE,
// with that folder on PYTHONPATH or as the working folder. It is never written to.
//
//go:embed seer_notebook/*.py seer_notebook/*/*.py
var Notebook embed.FS
