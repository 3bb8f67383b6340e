// Package confinement tries to lead workspaces out of their root: through mazes of
// links, whose verdicts are compared with those of the kernel, and by swapping what
// is on the way while operations are under way.
//
// What it makes lies on this machine, under the very paths by which the workspace
// names it. It needs Linux.
package confinement
