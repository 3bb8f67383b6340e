// Package server is the helper: the local engine behind the protocol of package
// wire, for one client's session. See [Serve].
//
// A session belongs to one process. Its first connection is that process's own
// input and output; further ones (for bulk, or after a connection was lost) are
// made by processes that pass bytes on between their input and output and the
// session's socket, which lies in a private folder. Who presents another secret
// than the session was made with is refused.
package server
