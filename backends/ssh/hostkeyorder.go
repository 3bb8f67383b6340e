package ssh

import (
	"slices"
	"strings"

	gossh "golang.org/x/crypto/ssh"
)

// algorithms lists the kinds of keys that are recorded for the host first, so
// that the server shows one of them (hazard SSHC-05); where an authority is, that is
// a certificate of any kind. The others follow, so that a key of another kind is seen
// and refused with its fingerprint: those of Ed25519 first, as with OpenSSH, so that
// both record the same key of a new host. A Dropbear without an RSA key offers RSA none
// the less, and dies of it. Certificates that nobody vouches for come last.
func (k *hostKeys) algorithms() []string {
	certified := func(a string) bool { return strings.Contains(a, "-cert-v01") }
	rest := gossh.SupportedAlgorithms().HostKeys
	slices.SortStableFunc(rest, func(a, b string) int { return rank(a) - rank(b) })
	var list []string
	add := func(algorithms []string, certificates bool) {
		for _, a := range algorithms {
			if certified(a) == certificates && !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	if k.db != nil {
		if _, authorities := k.recorded(); len(authorities) > 0 {
			add(rest, true)
		}
		add(k.db.HostKeyAlgorithms(k.hop.keyAddress()), false)
	}
	add(rest, false)
	add(rest, true)
	return list
}

// rank orders algorithms: a smaller one comes first.
func rank(algorithm string) int {
	if strings.HasPrefix(algorithm, gossh.KeyAlgoED25519) {
		return 0
	}
	return 1
}

// recorded returns the host's own keys and those of its authorities, marshalled.
func (k *hostKeys) recorded() (own, authorities []string) {
	if k.db == nil {
		return nil, nil
	}
	for _, key := range k.db.HostKeys(k.hop.keyAddress()) {
		if key.Cert {
			authorities = append(authorities, string(key.Marshal()))
		} else {
			own = append(own, string(key.Marshal()))
		}
	}
	return own, authorities
}
