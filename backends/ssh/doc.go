// Package ssh is the workspace on an SSH host where nothing of ours is installed.
// golang.org/x/crypto/ssh carries raw channels, SFTP moves files, and the scripts
// of backends/internal/posix run commands, searches and window reads in a POSIX
// shell. Nothing ever falls back to this machine or to a direct connection.
//
// # Connection
//
// One deadline bounds TCP, banner, key exchange and authentication, and an error
// names the phase (hazard SSHC-01). A keepalive of our own closes a dead link
// (SSHC-02). A lost connection is made anew when a call needs it, a bounded number
// of times. Reads are repeated once; an effect that was under way is reported as
// unknown unless the host can be asked (SSHC-07).
//
// # Channels
//
// The SFTP client holds one channel, each command another. If the server has none
// left, calls wait. If it has too few for what goes on, as with MaxSessions 1, up
// to three further links to the same host carry them (SSHX-05).
//
// # Files
//
// Where there are a shell and an SFTP server, scripts carry content, changes and
// listings: one run does for a whole operation, and their confinement is stronger.
// Looking at a file goes by SFTP, whose session is open already. Options.Files
// leaves everything to one of them. Without an SFTP server the scripts carry files;
// without a shell there are file operations only.
//
// By SFTP paths are followed component by component with LSTAT and READLINK, never
// by the server's REALPATH (CONF-06), and what comes out is what is used. SFTP has
// no descriptors of folders, so that confinement is check-then-use; the path is
// looked at again after a file was opened and before it is replaced (CONF-04).
package ssh
