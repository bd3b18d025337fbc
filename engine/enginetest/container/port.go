package container

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
)

// Ports between firstPort and firstPort+portCount are outside of those that outgoing
// connections and listeners at port 0 take.
const (
	firstPort = 20000
	portCount = 12000
)

var nextPort atomic.Int64

// FreePort returns a TCP port at which nobody listens. It stays free until somebody
// listens, and between two who do, because no system gives it out by itself and this process
// returns another one to each caller.
func FreePort() (int, error) {
	nextPort.CompareAndSwap(0, rand.Int64N(portCount))
	for range portCount {
		port := firstPort + int(nextPort.Add(1)%portCount)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("there is no free port")
}
