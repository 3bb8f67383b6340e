package ssh

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/pkg/sftp"

	"github.com/piremote/piremote/tools/ops"
)

// unknownWait is how long an aborted rename may be asked about.
const unknownWait = 5 * time.Second

// replace renames the new file over the old one, after a last look at the path.
func (u *upload) replace(ctx context.Context) error {
	s := u.session
	file := u.file
	u.file = nil
	closed := make(chan error, 1)
	go func() { // an error of closing is one of writing on some file systems
		_, err := call(ctx, s, func(*sftp.Client) (struct{}, error) { return struct{}{}, file.Close() })
		closed <- err
	}()
	err := u.unchanged(ctx)
	if cerr := <-closed; err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	// From here on there is an outcome, whatever ctx does.
	renameCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unknownWait)
	defer cancel()
	_, err = call(renameCtx, s, func(c *sftp.Client) (struct{}, error) {
		return struct{}{}, u.rename(c)
	})
	switch {
	case err == nil:
		u.made = false
		return nil
	case s.lost(err) || renameCtx.Err() != nil:
		return u.ask(ctx, err)
	}
	return err
}

// unchanged looks at the target's path again: a link in it, or another file in
// its place, appeared since (hazard CONF-04).
func (u *upload) unchanged(ctx context.Context) error {
	now, err := walker{}.follow(ctx, u.session, u.place.path)
	switch {
	case err != nil:
		return err
	case now.path != u.place.path, (now.info == nil) != (u.place.info == nil):
		return ops.ErrChanged
	case now.info != nil && (now.info.Mode() != u.place.info.Mode() || now.info.Size() != u.place.info.Size() || !now.info.ModTime().Equal(u.place.info.ModTime())):
		return ops.ErrChanged
	}
	return nil
}

// rename puts the new file in the place of the old one. Without the extension, or
// where it is offered and takes no existing target, the old one is moved aside first
// and put back if that fails: the only copy is never deleted (hazard SFTP-02).
func (u *upload) rename(c *sftp.Client) error {
	if _, ok := c.HasExtension("posix-rename@openssh.com"); ok {
		err := sftpError(c.PosixRename(u.temp, u.place.path))
		onlyNew := errors.Is(err, errFailure) && u.place.info != nil
		if !onlyNew && !errors.Is(err, errors.ErrUnsupported) {
			return u.files.reason(c, err, path.Dir(u.temp))
		}
	}
	err := c.Rename(u.temp, u.place.path)
	if err == nil || u.session.lost(err) || u.place.info == nil {
		return sftpError(err)
	}
	aside := u.temp + "-old"
	if err := c.Rename(u.place.path, aside); err != nil {
		return sftpError(err)
	}
	if err := c.Rename(u.temp, u.place.path); err != nil {
		if back := c.Rename(aside, u.place.path); back != nil {
			return transport(ops.KindOutcomeUnknown, u.session.channel.link.label, err,
				"%s could not be replaced, and its old content is at %s", u.place.path, aside)
		}
		return sftpError(err)
	}
	if err := c.Remove(aside); err != nil {
		return transport(ops.KindOutcomeUnknown, u.session.channel.link.label, err,
			"%s was replaced, but its old content is still at %s", u.place.path, aside)
	}
	return nil
}

// ask finds out on a new session whether a rename happened: the temporary file
// is there, or it is not. Nothing is repeated.
func (u *upload) ask(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unknownWait)
	defer cancel()
	link := u.session.channel.link
	unknown := transport(ops.KindOutcomeUnknown, link.label, cause, "the connection to %s was lost while %s was being replaced; whether it was is not known", link.addr, u.place.path)
	if link.deaf.Load() {
		return unknown // asking would meet the same silence
	}
	s, err := u.files.clients.get(ctx)
	if err != nil {
		return unknown
	}
	// Removing it settles the matter: what is still under way can't succeed then.
	_, err = call(ctx, s, func(c *sftp.Client) (struct{}, error) { return struct{}{}, sftpError(c.Remove(u.temp)) })
	switch {
	case err == nil:
		u.made = false
		return link.lostError(cause) // the old bytes are there
	case errors.Is(err, fs.ErrNotExist):
		u.made = false
		return nil // it was renamed
	}
	return unknown
}

// cleanUp removes the temporary file, on a new session if need be.
func (u *upload) cleanUp(ctx context.Context) {
	if file := u.file; file != nil {
		go func() { _ = file.Close() }() // nobody waits for the answer
	}
	if !u.made {
		return
	}
	remove := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unknownWait)
		defer cancel()
		if s, err := u.files.clients.get(ctx); err == nil {
			_, _ = call(ctx, s, func(c *sftp.Client) (struct{}, error) { return struct{}{}, c.Remove(u.temp) })
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		remove()
	}()
	// An aborted call does not wait long for a server that does not answer, nor does
	// one whose server has stopped answering.
	timer := time.NewTimer(abortWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		if ctx.Err() == nil && !u.session.channel.link.deaf.Load() {
			<-done
		}
	}
}
