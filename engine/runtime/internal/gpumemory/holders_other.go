//go:build !linux

package gpumemory

// use is a process's use of the GPU. It is empty: machines with GPUs run Linux.
type use struct {
	device  string
	library bool
}

func useOf(int, string) use { return use{} }
