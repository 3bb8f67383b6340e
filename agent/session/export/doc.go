// Package export writes a session as a document for people: one HTML file that
// holds all it needs, runs nothing and loads nothing.
package export
