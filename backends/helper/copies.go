package helper

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Copy is a helper of another version that lies beside the one that is used.
type Copy struct {
	Name  string
	Size  int64     // in bytes
	Used  time.Time // when somebody began to use it last
	InUse bool      // a process that lives may start it
}

// Line is the copy as a line of text without its end.
func (c Copy) Line() string {
	return fmt.Sprintf("copy %s %d %d %t", c.Name, c.Size, unix(c.Used), c.InUse)
}

// ParseCopy is the inverse of Line. Other lines report false.
func ParseCopy(line string) (Copy, bool) {
	f := strings.Fields(line)
	if len(f) != 5 || f[0] != "copy" {
		return Copy{}, false
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return Copy{}, false
	}
	used, err := strconv.ParseInt(f[3], 10, 64)
	if err != nil {
		return Copy{}, false
	}
	inUse, err := strconv.ParseBool(f[4])
	return Copy{Name: f[1], Size: size, Used: moment(used), InUse: inUse}, err == nil
}
