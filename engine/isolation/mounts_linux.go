package isolation

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// systemDirs are the parts of this computer's system beside /usr: links into it,
// or folders on older systems.
var systemDirs = [...]string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// splitMounts finds the mounts that come before what is shown read-only. What is
// mounted over a folder hides what was shown in it before: a Python in /tmp comes
// after the sandbox's own /tmp, to which /var/tmp leads.
func splitMounts(spec Spec) (above, others []sdk.Mount) {
	for _, m := range spec.Mounts {
		if covers(m.Target, spec.ReadOnly...) || covers(m.Target, "/tmp") && covers("/var/tmp", spec.ReadOnly...) {
			above = append(above, m)
		} else {
			others = append(others, m)
		}
	}
	return above, others
}

func checkMount(m sdk.Mount) error {
	if err := checkAbs("the source of a mount", m.Source); err != nil {
		return err
	}
	if err := checkAbs("the target of a mount", m.Target); err != nil {
		return err
	}
	if covers(m.Target, "/usr", "/proc", "/dev", "/etc") {
		return sdk.Errorf(sdk.Invalid, "nothing can be mounted at %s, because that would hide the system", m.Target)
	}
	if _, err := os.Stat(m.Source); err != nil {
		return sdk.Errorf(sdk.NotFound, "cannot mount %s at %s: %v", m.Source, m.Target, err)
	}
	return nil
}

// covers reports whether target is one of the folders or contains it.
func covers(target string, folders ...string) bool {
	target = strings.TrimSuffix(filepath.Clean(target), "/") + "/"
	for _, f := range folders {
		if strings.HasPrefix(f+"/", target) {
			return true
		}
	}
	return false
}
