package container

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
)

// Ports between firstPort and firstPort+portCount are outside of those that outgoing
// connections and listeners at port 0 take.
const (
	firstPort = 20000
	portCount = 12000
	blockSize = 100
)

// block is where this process takes ports from. It listens at the first of them as long as it
// runs, so no other process takes the same block.
var block struct {
	sync.Mutex
	owners []net.Listener
	next   int
	end    int
}

// FreePort returns a TCP port of loopback at which nobody listens. It stays free until somebody
// listens, and between two who do: no system gives it out by itself, and neither this process
// nor another one that uses this function returns it a second time.
func FreePort() (int, error) {
	block.Lock()
	defer block.Unlock()
	for range portCount {
		if block.next == block.end {
			if err := nextBlock(); err != nil {
				return 0, err
			}
		}
		port := block.next
		block.next++
		if free(port) {
			return port, nil
		}
	}
	return 0, errors.New("there is no free port")
}

// nextBlock takes another block. It keeps the ones before: their ports may be in use.
func nextBlock() error {
	first := rand.IntN(portCount / blockSize)
	for i := range portCount / blockSize {
		port := firstPort + (first+i)%(portCount/blockSize)*blockSize
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			block.owners = append(block.owners, l)
			block.next, block.end = port+1, port+blockSize
			return nil
		}
	}
	return errors.New("all blocks of ports are taken")
}

// free is whether nobody listens at a port, on either loopback address.
func free(port int) bool {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port))
		switch {
		case err == nil:
			_ = l.Close()
		case host == "127.0.0.1" || errors.Is(err, syscall.EADDRINUSE): // IPv6 may be missing
			return false
		}
	}
	return true
}
