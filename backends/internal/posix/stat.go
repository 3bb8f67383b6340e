package posix

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// info reads the metadata that the prelude's p_meta printed, from the mark of a
// part.
func (e *Engine) info(p part, name string) (ops.FileInfo, error) {
	if len(p.mark) > 0 && p.mark[0] == "meta" {
		w := p.mark[1:]
		if e.core.probe.Stat == "" {
			if info, ok := lsInfo(w); ok {
				info.FileName = path.Base(path.Clean(name))
				return info, nil
			}
		} else if info, ok := statInfo(w); ok {
			info.FileName = path.Base(path.Clean(name))
			return info, nil
		}
	}
	return ops.FileInfo{}, e.transport(ops.KindProtocol, e.label+": the target describes "+name+" in an unknown form", nil)
}

// statInfo reads hex mode, size, seconds, device, inode, links, owner, group,
// and at the end a text with the fraction of the second after a point.
func statInfo(w []string) (ops.FileInfo, bool) {
	if len(w) < 8 {
		return ops.FileInfo{}, false
	}
	mode, err1 := strconv.ParseUint(w[0], 16, 32)
	size, err2 := strconv.ParseInt(w[1], 10, 64)
	sec, err3 := strconv.ParseInt(w[2], 10, 64)
	dev, err4 := strconv.ParseUint(w[3], 10, 64)
	ino, err5 := strconv.ParseUint(w[4], 10, 64)
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			return ops.FileInfo{}, false
		}
	}
	var nsec int64
	for _, t := range w[8:] {
		if _, frac, ok := strings.Cut(t, "."); ok {
			n, err := strconv.ParseInt((frac + "000000000")[:9], 10, 64)
			if err == nil && n >= 0 {
				nsec = n
			}
			break
		}
	}
	return ops.FileInfo{
		FileSize: size, FileMode: fileMode(uint32(mode)), Modified: time.Unix(sec, nsec),
		ID: ops.FileID{Device: dev, Inode: ino},
	}, true
}

// fileMode maps st_mode.
func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	for _, b := range []struct {
		bit  uint32
		mode fs.FileMode
	}{{0o4000, fs.ModeSetuid}, {0o2000, fs.ModeSetgid}, {0o1000, fs.ModeSticky}} {
		if m&b.bit != 0 {
			mode |= b.mode
		}
	}
	switch m & 0o170000 {
	case 0o040000:
		mode |= fs.ModeDir
	case 0o120000:
		mode |= fs.ModeSymlink
	case 0o010000:
		mode |= fs.ModeNamedPipe
	case 0o140000:
		mode |= fs.ModeSocket
	case 0o020000:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case 0o060000:
		mode |= fs.ModeDevice
	case 0o100000:
	default:
		mode |= fs.ModeIrregular
	}
	return mode
}

// lsInfo reads a line of ls -dn, for targets without stat. Time and identity
// are not known then.
func lsInfo(w []string) (ops.FileInfo, bool) {
	if len(w) < 5 || len(w[0]) < 10 {
		return ops.FileInfo{}, false
	}
	var m uint32
	switch w[0][0] {
	case 'd':
		m = 0o040000
	case 'l':
		m = 0o120000
	case 'p':
		m = 0o010000
	case 's':
		m = 0o140000
	case 'c':
		m = 0o020000
	case 'b':
		m = 0o060000
	case '-':
		m = 0o100000
	}
	for i, c := range w[0][1:10] {
		bit := uint32(1) << (8 - i)
		special := uint32(0o4000) >> (i / 3)
		switch c {
		case '-':
		case 's', 't':
			m |= bit | special
		case 'S', 'T':
			m |= special
		default:
			m |= bit
		}
	}
	var size int64
	if m&0o170000 == 0o100000 || m&0o170000 == 0o040000 {
		n, err := strconv.ParseInt(w[4], 10, 64)
		if err != nil {
			return ops.FileInfo{}, false
		}
		size = n
	}
	return ops.FileInfo{FileSize: size, FileMode: fileMode(m)}, true
}
