// Package config reads piremote's configuration into one typed value.
//
// Viper merges the sources, in this order of precedence: command-line flags,
// environment (PIREMOTE_…), the user's file, defaults. Load builds a fresh Viper
// instance each time and hands out a plain Config that nobody changes; no other
// package imports Viper. Unknown keys and wrong types are errors that name file,
// line and key. Durations need a unit. Nothing is ever read from a workspace.
package config
