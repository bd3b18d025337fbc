package container

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// FreePort is outside of those that outgoing connections take, so that it stays free
// until somebody listens, and between two who do.
func FreePort() (int, error) {
	for range 1000 {
		port := 20000 + rand.IntN(12000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("there is no free port")
}
