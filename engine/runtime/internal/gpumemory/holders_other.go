//go:build !linux

package gpumemory

// use is what a process has of the GPU: nothing, for the driver of CUDA is Linux's.
type use struct {
	device  string
	library bool
}

func useOf(int, string) use { return use{} }
