package ssh

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"

	gossh "golang.org/x/crypto/ssh"
)

// algorithms are those that a connection may use. A nil list is the library's.
type algorithms struct{ ciphers, macs, exchanges, hostKeys []string }

// takeAlgorithms fills in what ssh_config allows and the library has. It restricts
// and admits; the order stays the library's, with the weak ones last. So old servers
// are reached as with OpenSSH, and what is forbidden is not used.
func (h *hop) takeAlgorithms(s settings) error {
	good, weak := gossh.SupportedAlgorithms(), gossh.InsecureAlgorithms()
	for _, l := range []struct {
		keyword    string
		to         *[]string
		good, weak []string
	}{
		{"Ciphers", &h.algorithms.ciphers, good.Ciphers, weak.Ciphers},
		{"MACs", &h.algorithms.macs, good.MACs, weak.MACs},
		{"KexAlgorithms", &h.algorithms.exchanges, good.KeyExchanges, weak.KeyExchanges},
		{"HostKeyAlgorithms", &h.algorithms.hostKeys, good.HostKeys, weak.HostKeys},
	} {
		value := s.first(strings.ToLower(l.keyword))
		if value == "" {
			continue
		}
		if *l.to = choose(value, l.good, l.weak); len(*l.to) == 0 {
			return badConfig(h.name, nil, "%s %s in ssh_config allows nothing that is supported: add one of %s", l.keyword, plain(value), strings.Join(l.good, ","))
		}
	}
	return nil
}

// choose returns the algorithms that a list of ssh_config leaves: all that are good
// without those of a list that begins with "-", with those of one that begins with "+"
// or "^", else those of the list.
func choose(list string, good, weak []string) []string {
	mode := list[0]
	patterns := strings.Split(strings.TrimLeft(list, "+-^"), ",")
	var left []string
	for i, from := range [][]string{good, weak} {
		for _, name := range from {
			named, usual := fitsAny(name, patterns), i == 0
			switch mode {
			case '-':
				named = usual && !named
			case '+', '^':
				named = usual || named
			}
			if named {
				left = append(left, name)
			}
		}
	}
	return left
}

// configure puts the lists into a configuration. keys are the algorithms of host keys
// in the order in which they are wanted.
func (a algorithms) configure(config *gossh.ClientConfig, keys []string) {
	config.Ciphers, config.MACs, config.KeyExchanges = a.ciphers, a.macs, a.exchanges
	config.HostKeyAlgorithms = keys
	if a.hostKeys == nil {
		return
	}
	config.HostKeyAlgorithms = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !slices.Contains(a.hostKeys, k) })
	for _, k := range a.hostKeys {
		if !slices.Contains(keys, k) { // a weak one
			config.HostKeyAlgorithms = append(config.HostKeyAlgorithms, k)
		}
	}
}

// families are the networks by the words of AddressFamily.
var families = map[string]string{"": "tcp", "any": "tcp", "inet": "tcp4", "inet6": "tcp6"}

// dialTCP connects to a host directly, from the address and over the family that
// ssh_config names.
func (h *hop) dialTCP(ctx context.Context) (net.Conn, error) {
	network := families[h.family]
	if h.bind == "" {
		return (&net.Dialer{}).DialContext(ctx, network, h.address())
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, strings.Replace(network, "tcp", "ip", 1), h.bind)
	if err == nil {
		local := &net.TCPAddr{IP: list[0].AsSlice(), Zone: list[0].Zone()}
		var conn net.Conn
		if conn, err = (&net.Dialer{LocalAddr: local}).DialContext(ctx, network, h.address()); err == nil || !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return conn, err
		}
	}
	return nil, badConfig(h.name, err, "BindAddress %s in ssh_config is no address of this machine: %s", plain(h.bind), plain(err.Error()))
}
