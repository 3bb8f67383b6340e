package docker

import (
	"context"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

// image pulls the image if it is not there, and returns which of its folders would be
// volumes that can be written.
func (s *Sandbox) image(ctx context.Context, o SandboxOptions) ([]string, error) {
	r := s.runner
	look := func() ([]string, error) {
		bounded, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		return r.daemon.Image(bounded, o.Image)
	}
	volumes, err := look()
	if notFound(err) {
		if err := s.pull(ctx, o); err != nil {
			return nil, err
		}
		if volumes, err = look(); notFound(err) {
			return nil, r.fault(ops.KindUnavailable, err, "the image %s is not at the daemon %s, which says that it has pulled it", o.Image, r.target.endpoint)
		}
	}
	if err != nil {
		return nil, r.explain(ctx, err, "look for the image "+o.Image)
	}
	return volumes, nil
}

// pull fetches the image, and tells of each step of each layer once: a daemon reports
// them again and again, those of several layers in turn.
func (s *Sandbox) pull(ctx context.Context, o SandboxOptions) error {
	tell := s.runner.notice
	if tell == nil {
		tell = func(string) {}
	}
	tell("The image " + o.Image + " is not there and is pulled.")
	told := map[string]bool{"": true}
	err := s.runner.daemon.Pull(ctx, o.Image, func(line string) {
		if !told[line] {
			tell("pulling " + o.Image + ": " + line)
		}
		told[line] = true
	})
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.runner.fault(ops.KindUnavailable, err, "the image %s is not at the daemon %s and can't be pulled: %s; docker images lists those that are",
		o.Image, s.runner.target.endpoint, strings.Join(strings.Fields(err.Error()), " "))
}
