// Package sshname says which names of hosts may be given to ssh.
package sshname

import "github.com/seer-engine/seer/internal/lazyregexp"

var host = lazyregexp.New(`^([A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}@)?[A-Za-z0-9_\[][A-Za-z0-9_.:\]-]{0,254}$`)

// Valid reports whether a host, NAME or USER@NAME, is nothing but a host to ssh: no option, and
// nothing that a shell would read.
func Valid(name string) bool { return host().MatchString(name) }
