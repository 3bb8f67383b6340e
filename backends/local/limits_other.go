//go:build !linux

package local

// containerLimits counts nothing here.
type containerLimits struct{}

func countLimits() containerLimits { return containerLimits{} }

func (containerLimits) hit() []string { return nil }
