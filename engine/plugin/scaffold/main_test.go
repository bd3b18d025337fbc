package scaffold_test

import (
	"sync"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// The one global of these tests: what is made once for all of them.
var shared struct {
	dir  string
	once sync.Once
	err  error
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(dir string) error { shared.dir = dir; return nil })
}
