// Package programs keeps order among the helpers in a folder: who uses one says so
// by a lock, and those of other versions that nobody uses can be removed.
//
// A helper's file is named by the SHA-256 of what it holds, helper- and the hash.
// Who may start it again by its name holds a shared lock on it, which ends with the
// process however that ends. Its time of change is when somebody began to use it.
package programs
