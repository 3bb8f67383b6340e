// Package store keeps sessions: trees of entries, each session an append-only file
// of JSON lines in the format, version 3, of the Pi coding agent, which can read
// our files as we read its. Entries have an id and a parent; the leaf is where the
// next one is put. Nothing is changed or removed: another branch starts at an
// earlier entry.
//
// A file has one writer, which holds a lock on it. A record is handed to the
// operating system before Append returns, so that it survives the end of the
// process, however that comes; Sync and Close make it survive a loss of power too.
// A record that could not be written whole is taken back. One that was cut by the
// end of its writer is cut off at the next Open, and told by Repair.
package store
