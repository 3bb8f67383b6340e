// Package printer shows a run to people and to programs: as text on a terminal
// or in a log, and as JSON lines.
package printer
