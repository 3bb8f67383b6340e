package posix

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

// run runs a script about one path and maps its failure to a *fs.PathError.
func (e *Engine) run(ctx context.Context, op, name string, req request, script string, args ...string) (reply, error) {
	if name == "" || strings.ContainsRune(name, 0) || !path.IsAbs(name) {
		return nil, pathError(op, name, fs.ErrInvalid)
	}
	engine := e
	if _, own := e.ownFile(name); own {
		engine = e.free()
		engine.own = true
	}
	req.script, req.args = script, append([]string{path.Clean(name)}, args...)
	r, err := engine.call(ctx, req)
	if errors.Is(err, errReplyTooLong) {
		return nil, pathError(op, name, ops.ErrTooLarge)
	}
	if err != nil {
		return nil, err
	}
	if _, err := r.failure(); err != nil {
		return r, pathError(op, name, err)
	}
	return r, nil
}

// ownFile returns the identity of a spill file of this connection.
func (e *Engine) ownFile(name string) (ops.FileID, bool) {
	e.core.mu.Lock()
	defer e.core.mu.Unlock()
	id, ok := e.core.spills[name]
	return id, ok
}

// Access implements ops.ReadOperations in one round trip.
func (e *Engine) Access(ctx context.Context, name string) error {
	_, err := e.run(ctx, "open", name, request{}, "access")
	return err
}

// replyRoom is what the marks of a reply may take beside its data.
const replyRoom = 64 << 10

// ReadFile implements ops.ReadOperations in one round trip.
func (e *Engine) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	data, _, err := e.ReadVersion(ctx, name, limit)
	return data, err
}

// ReadVersion implements ops.VersionReader in one round trip.
func (e *Engine) ReadVersion(ctx context.Context, name string, limit int64) ([]byte, ops.Version, error) {
	data, info, err := e.read(ctx, name, limit)
	return data, version(info), err
}

func (e *Engine) read(ctx context.Context, name string, limit int64) ([]byte, ops.FileInfo, error) {
	req, bound := request{}, ""
	if limit > 0 {
		bound = strconv.FormatInt(limit+1, 10)
		req.limit = limit + 1 + replyRoom
	}
	r, err := e.run(ctx, "read", name, req, "read", bound)
	if err != nil {
		return nil, ops.FileInfo{}, err
	}
	if len(r) < 2 {
		return nil, ops.FileInfo{}, e.transport(ops.KindProtocol, e.label+": incomplete answer", nil)
	}
	data := r[1].data
	switch {
	case r[1].mark[0] == "short":
		return nil, ops.FileInfo{}, pathError("read", name, io.ErrUnexpectedEOF)
	case limit > 0 && int64(len(data)) > limit:
		return nil, ops.FileInfo{}, pathError("read", name, ops.ErrTooLarge)
	}
	info, err := e.info(r[0], name)
	if err != nil {
		return nil, ops.FileInfo{}, err
	}
	if id, own := e.ownFile(name); own && id != info.ID {
		return nil, ops.FileInfo{}, pathError("read", name, ops.ErrOutside)
	}
	if int64(len(data)) < info.FileSize && info.FileSize != 4096 {
		// It shrank while it was read, or the reply is incomplete. Files of
		// /sys claim one page and hold less.
		return nil, ops.FileInfo{}, pathError("read", name, io.ErrUnexpectedEOF)
	}
	return data, info, nil
}

// Stat implements ops.LsOperations in one round trip.
func (e *Engine) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	r, err := e.run(ctx, "stat", name, request{}, "stat")
	if err != nil {
		return nil, err
	}
	info, err := e.info(r[0], name)
	if err != nil {
		return nil, err
	}
	return info, nil
}

// ReadDir implements ops.LsOperations in one round trip. The listing is
// complete before the first entry is yielded, so that no channel is held while
// the caller works.
func (e *Engine) ReadDir(ctx context.Context, name string, yield func(fs.DirEntry) bool) error {
	r, err := e.run(ctx, "open", name, request{}, "readdir")
	if err != nil {
		return err
	}
	list := string(r[len(r)-1].data)
	for list != "" {
		var item string
		item, list, _ = strings.Cut(list, "\x00")
		if len(item) < 2 || strings.Contains(item, "/") {
			continue // no name of a file
		}
		if !yield(ops.DirEntry{EntryName: item[1:], EntryType: entryType(item[0])}) {
			break
		}
	}
	return nil
}

// entryType maps a letter of readdir.sh.
func entryType(c byte) fs.FileMode {
	switch c {
	case 'f':
		return 0
	case 'd':
		return fs.ModeDir
	case 'l':
		return fs.ModeSymlink
	case 'p':
		return fs.ModeNamedPipe
	case 's':
		return fs.ModeSocket
	case 'c':
		return fs.ModeDevice | fs.ModeCharDevice
	case 'b':
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}

// Canonical implements ops.Canonicalizer in one round trip.
func (e *Engine) Canonical(ctx context.Context, name string) (string, error) {
	r, err := e.run(ctx, "canonical", name, request{}, "canonical")
	if err != nil {
		return "", err
	}
	return path.Clean("/" + string(r[0].data)), nil
}

// MkdirAll implements ops.WriteOperations in one round trip.
func (e *Engine) MkdirAll(ctx context.Context, dir string) error {
	_, err := e.run(ctx, "mkdir", dir, request{effect: true}, "mkdir")
	return err
}

// WriteFile implements ops.WriteOperations in one round trip.
func (e *Engine) WriteFile(ctx context.Context, name string, data []byte) (ops.WriteReport, error) {
	return e.write(ctx, name, "", data)
}

// WriteVersion implements ops.VersionWriter in one round trip. A version that was seen
// where the target could not tell the time is not that of any file.
func (e *Engine) WriteVersion(ctx context.Context, name string, v ops.Version, data []byte) (ops.WriteReport, error) {
	report, err := e.write(ctx, name, versionWords(v), data)
	if errors.Is(err, fs.ErrNotExist) {
		err = pathError("write", name, ops.ErrChanged)
	}
	return report, err
}

// write replaces a file, if it is of the version that is expected, unless that is
// empty. The data travels on stdin after the script (hazard DKF-01) and its size is
// checked before anything is replaced.
func (e *Engine) write(ctx context.Context, name, expect string, data []byte) (ops.WriteReport, error) {
	size := strconv.Itoa(len(data))
	r, err := e.run(ctx, "write", name, request{bulk: data, effect: true}, "write", size, nonce(), expect)
	if len(r) > 0 && err != nil {
		switch code, _ := r.failure(); code {
		case "ESHORT":
			return ops.WriteReport{}, e.transport(ops.KindUnavailable,
				e.label+": the content of "+name+" did not arrive completely; the file is as it was", io.ErrUnexpectedEOF)
		case "EUNKNOWN":
			return ops.WriteReport{}, e.transport(ops.KindOutcomeUnknown,
				e.label+": writing "+name+" in place failed and its old content could not be put back", nil)
		}
	}
	if err != nil {
		return ops.WriteReport{}, err
	}
	p := r[len(r)-1]
	report := ops.WriteReport{Path: path.Clean(string(p.data))}
	if len(p.mark) == 3 {
		report.Created = p.mark[1] == "y"
		report.InPlace = inPlace(p.mark[2])
	}
	if info, err := e.info(r[0], name); err == nil {
		report.Version = version(info)
	}
	return report, nil
}

func inPlace(reason string) string {
	switch reason {
	case "-":
		return ""
	case "links":
		return "the file has several hard links"
	case "folder":
		return "its folder can't take a new file"
	case "owner":
		return "its owner and group could not be kept by a new file"
	case "mode":
		return "its mode could not be kept by a new file"
	}
	return "it could not be replaced by a rename"
}
