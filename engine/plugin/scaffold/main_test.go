package scaffold_test

import (
	"os"
	"sync"
	"testing"
)

// The one global of these tests: what is made once for all of them.
var shared struct {
	dir  string
	once sync.Once
	err  error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "scaffold-")
	if err != nil {
		panic(err)
	}
	shared.dir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
