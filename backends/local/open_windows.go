package local

import "os"

const (
	readFlags = os.O_RDONLY
	noFollow  = 0
)
