package runpod

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// identity is what has to be found again of a machine. It is the name of its pod,
// KEY.OWNER.END with END in unix seconds, for RunPod keeps nothing else of the user's.
type identity struct {
	Key     string
	Owner   string
	EndUnix int64 // 0 = none
}

var (
	keyForm   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
	ownerForm = regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,80}$`)
)

func identityOf(spec sdk.MachineSpec) (identity, error) {
	id := identity{spec.Key, spec.Owner, spec.EndUnix}
	if !keyForm.MatchString(id.Key) || !ownerForm.MatchString(id.Owner) || id.EndUnix < 0 {
		return id, sdk.Errorf(sdk.Invalid, "the key %q and the owner %q cannot be the name of a pod; they are up to 80 letters, digits and hyphens", id.Key, id.Owner)
	}
	return id, nil
}

// String is the name of the pod.
func (i identity) String() string {
	return i.Key + "." + i.Owner + "." + strconv.FormatInt(i.EndUnix, 10)
}

// parseName reads the name of a pod; false when it is not one of Seer's.
func parseName(name string) (identity, bool) {
	key, rest, _ := strings.Cut(name, ".")
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 {
		return identity{}, false
	}
	end, err := strconv.ParseInt(rest[dot+1:], 10, 64)
	id := identity{key, rest[:dot], end}
	// One machine has one name: other ways to write the same are somebody else's.
	if err != nil || end < 0 || !keyForm.MatchString(key) || !ownerForm.MatchString(id.Owner) || id.String() != name {
		return identity{}, false
	}
	return id, true
}
