// Package opstest helps to test tools and backends: an in-memory workspace that
// fulfils the whole contract of tools/ops, a fault injector, a recorder, and
// workspaces that each break one rule, by which the conformance suite proves
// that its checks can fail.
package opstest
