// Package schema makes tools from typed Go functions and checks the arguments
// of calls: it derives the JSON schema from one struct, converts what models
// commonly confuse without loss, and explains every violation at once
// (specification, chapter 5, section 2).
package schema
