package proc

import (
	"os"

	"github.com/seer-engine/seer/internal/bootid"
)

// Computer is where a machine was started. Computers that share a home folder see each other's notes.
type Computer struct {
	Name string `json:"name"`
	Boot string `json:"boot"` // the start of its system
}

// Here is this computer.
func Here() Computer {
	name, _ := os.Hostname()
	return Computer{Name: name, Boot: bootid.Read()}
}

// Other reports whether c is another computer than here. This computer may have been restarted, and
// it may have got another name, but not both in the life of a machine. A machine whose note does not
// name a computer is one of this computer.
func (c Computer) Other(here Computer) bool {
	return c.Name != "" && c.Name != here.Name && c.Boot != here.Boot
}
