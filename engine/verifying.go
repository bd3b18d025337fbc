package engine

import (
	"os"
	"time"
)

// verifyRate is how many bytes of saved memory a slow disk and processor verify in a second.
const verifyRate = 50 << 20

// wakingTime is how long the machine of saved processes waits for us: while it starts, and
// until its whole memory has been read.
func wakingTime(dir string) (time.Duration, error) {
	files, err := memoryFiles(dir)
	if err != nil {
		return 0, err
	}
	var bytes int64
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		bytes += info.Size()
	}
	return bootTimeout + time.Duration(bytes/verifyRate)*time.Second, nil
}
