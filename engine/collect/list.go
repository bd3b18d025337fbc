package collect

import (
	"fmt"
	"strings"
)

// names lists paths for a warning, without control characters, and not without end.
type names struct {
	all  []string
	more int
}

func (n *names) add(name string) {
	const most = 5
	if len(n.all) < most {
		n.all = append(n.all, fmt.Sprintf("%.200q", name))
	} else {
		n.more++
	}
}

func (n names) String() string {
	text := strings.Join(n.all, ", ")
	if n.more > 0 {
		text += fmt.Sprintf(" and %d more", n.more)
	}
	return text
}
