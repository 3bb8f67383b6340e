package ssh_test

import (
	"os"
	"testing"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
)

// spread thins the suite in the short form: of so many checks each kind of server has
// one agentless and another one with the helper. In the long form each check runs on
// each kind.
const spread = 36

// The conformance suite on every kind of server, agentless and with the helper.
// Both run all checks on OpenSSH elsewhere.
func TestEveryKindOfServerConforms(t *testing.T) {
	t.Parallel() // most of it waits
	bundle := helpertest.Bundle(t)
	long := os.Getenv("PIREMOTE_SOAK") == "1" //nolint:forbidigo // tests read their own switches
	for i, kind := range servers.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := kind.Start(t)
			some := func(shift int) func(backendtest.Check) bool {
				if long {
					return nil
				}
				return backendtest.Share(3*i+shift, spread)
			}
			t.Run("agentless", func(t *testing.T) {
				backendtest.Run(t, backendtest.Harness{
					Name: kind.Name, NoExec: kind.NoShell, Only: some(0), Open: opener(s, helper.Never, bundle),
				})
			})
			if kind.NoShell {
				return // nothing can start a helper there
			}
			t.Run("helper", func(t *testing.T) {
				backendtest.Run(t, backendtest.Harness{Name: kind.Name, Only: some(spread / 2), Open: opener(s, helper.Require, bundle)})
			})
		})
	}
}
