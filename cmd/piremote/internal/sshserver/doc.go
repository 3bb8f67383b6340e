// Package sshserver is a small SSH server for demonstrations: it listens on a
// loopback port, admits one key, and serves commands and SFTP below a folder.
package sshserver
