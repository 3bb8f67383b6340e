// Package ssh is the backend for a folder on an SSH host where nothing of ours
// is installed. It keeps one connection, checks the host key strictly, and never
// falls back to this machine.
//
// With a shell on the host, files, commands and searches go through the scripts
// of backends/internal/posix, one exec channel each. Without one (an
// internal-sftp account) file operations go through SFTP and there are no
// commands.
package ssh
