package notebook

import (
	"archive/zip"
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/python"
)

// upload puts the service's program on the machine.
func (s Spec) upload(ctx context.Context, rt *client.Client) error {
	dir, err := os.MkdirTemp("", "seer-notebook-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, python.Notebook); err != nil {
		return err
	}
	if err := s.unpackCompiled(dir); err != nil { // then it is compiled there
		if err := os.RemoveAll(filepath.Join(dir, "seer_notebook")); err != nil {
			return err
		}
		if err := os.CopyFS(dir, python.Notebook); err != nil {
			return err
		}
	}
	return rt.Files().Upload(ctx, dir, folder+"/python")
}

func (s Spec) unpackCompiled(dir string) error {
	if len(s.Compiled) == 0 {
		return nil
	}
	files, err := zip.NewReader(bytes.NewReader(s.Compiled), int64(len(s.Compiled)))
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}
