// Package sample makes the project that "piremote try" mends: a few shell
// libraries, a test of their own, and one bug whose place a seed decides.
package sample
