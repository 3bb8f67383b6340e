// Package local is the engine: it carries out the operations of tools/ops on the
// machine on which it runs. It is used directly for local workspaces, and by the
// program that other backends start on their targets.
//
// Files are reached relative to an opened root folder (os.Root), so that there is
// no moment between a check and a use in which a link could be swapped in
// (hazards CONF-01 to CONF-05). Files are replaced atomically. Commands run in a
// session of their own, with their output in one pipe; ending a command means
// ending its whole tree, and looking that it has ended.
//
// A file operation that is blocked in the kernel, such as on a dead network file
// system, can't be interrupted; everything else honours its context.
package local
