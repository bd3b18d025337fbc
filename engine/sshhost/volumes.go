package sshhost

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// specOptions are the options of a spec that a plugin passes on to the computer of a machine.
type specOptions struct {
	// VolumesDir is the folder of the volumes, absolute or below ~/; empty = that of [volumesDir].
	VolumesDir string `json:"volumes_dir"`
}

// MountVolumes puts folders of this computer in the place of the volumes of a spec, and makes those
// that are missing. It takes the options of the spec.
func MountVolumes(spec *sdk.MachineSpec, getenv func(string) string) error {
	var o specOptions
	if len(spec.Options) > 0 {
		if err := json.Unmarshal(spec.Options, &o); err != nil {
			return sdk.Errorf(sdk.Invalid, "the options of the machine are not what Seer's program knows: %v", err)
		}
	}
	volumes := spec.Volumes
	spec.Options, spec.Volumes = nil, nil
	if len(volumes) == 0 {
		return nil
	}
	top, err := volumesTop(o.VolumesDir, getenv)
	if err != nil {
		return err
	}
	for _, v := range volumes {
		if !volumeName().MatchString(v.Name) {
			return sdk.Errorf(sdk.Invalid, "%q cannot be the name of a volume; use letters, digits, dots, hyphens and underscores", v.Name)
		}
		dir := filepath.Join(top, v.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return sdk.Errorf(sdk.Unsupported, "make the volume %s: %v; name another folder in volumes_dir of provider_options", v.Name, err)
		}
		spec.Mounts = append(spec.Mounts, sdk.Mount{Source: dir, Target: v.Path, Writable: !v.ReadOnly})
	}
	return nil
}

var volumeName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// volumesTop is the folder of volumes that an experiment names, or else the usual one.
func volumesTop(named string, getenv func(string) string) (string, error) {
	if named == "" {
		return volumesDir(getenv), nil
	}
	if rest, ok := strings.CutPrefix(named, "~/"); ok {
		named = filepath.Join(getenv("HOME"), rest)
	}
	if !filepath.IsAbs(named) {
		return "", sdk.Errorf(sdk.Invalid, "volumes_dir is %q; write an absolute path, or one that begins with ~/", named)
	}
	if _, err := os.Stat(named); err != nil {
		return "", sdk.Errorf(sdk.Invalid, "volumes_dir %s: %v; make the folder, or name another one", named, err)
	}
	return named, nil
}

// volumesDir is where volumes are that no experiment has put elsewhere.
func volumesDir(getenv func(string) string) string {
	data := getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(getenv("HOME"), ".local", "share")
	}
	return filepath.Join(data, "seer", "volumes")
}

// ownVolumes begin the names of volumes that are caches of Seer's, such as seer-models.
const ownVolumes = "seer-"

// volumes removes those of Seer's own.
func (c *cleaner) volumes(top string) error {
	found, err := filepath.Glob(filepath.Join(top, ownVolumes+"*"))
	if err != nil {
		return fmt.Errorf("look for volumes: %w", err)
	}
	for _, path := range found {
		size, err := sizeOf(path)
		if err == nil {
			err = c.remove(path, size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
