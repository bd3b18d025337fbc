package callproxy

import (
	"strings"
	"sync"

	"github.com/seer-engine/seer/engine/protocol"
)

// argumentBytes bounds the arguments that lie on the machine's disk at once.
type argumentBytes struct {
	token  int64 // of one token; main may have the whole of protocol.MaxFrameBody
	guests int64 // of all tokens of a service but main
}

func defaultArgumentBytes() argumentBytes { return argumentBytes{token: 1 << 30, guests: 8 << 30} }

// quota counts the bytes of arguments by their owners.
type quota struct {
	mu   sync.Mutex
	most argumentBytes
	held map[string]int64
}

// argumentsOwner names a token of a service; it begins the keys of its arguments.
func argumentsOwner(service, token string) string { return service + "\x00" + token + "\x00" }

// grow takes n more bytes for an owner, or refuses them. Those that it takes are given
// back by shrink.
func (q *quota) grow(owner string, n int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	most := int64(protocol.MaxFrameBody)
	if !isMain(owner) {
		most = q.most.token
	}
	if q.held[owner]+n > most {
		return protocol.Errorf(protocol.NoSpace, "the arguments cannot be kept: those of one token may have %d MiB at once; "+
			"wait for the token's other calls, or send less", most>>20)
	}
	if !isMain(owner) && q.ofGuests(owner)+n > q.most.guests {
		return protocol.Errorf(protocol.NoSpace, "the arguments cannot be kept: those of all tokens but main may have %d MiB at once; "+
			"try again later", q.most.guests>>20)
	}
	if q.held == nil {
		q.held = map[string]int64{}
	}
	q.held[owner] += n
	return nil
}

func (q *quota) shrink(owner string, n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[owner] -= n; q.held[owner] <= 0 {
		delete(q.held, owner)
	}
}

// ofGuests counts the bytes of the tokens of the owner's service, but for main's.
func (q *quota) ofGuests(owner string) int64 {
	service, _, _ := strings.Cut(owner, "\x00")
	var sum int64
	for other, n := range q.held {
		if strings.HasPrefix(other, service+"\x00") && !isMain(other) {
			sum += n
		}
	}
	return sum
}

func isMain(owner string) bool { return strings.HasSuffix(owner, "\x00"+protocol.MainToken+"\x00") }
