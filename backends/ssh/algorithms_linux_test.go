package ssh

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/internal/require"
	"github.com/piremote/piremote/tools/ops"
)

func TestChooseAlgorithms(t *testing.T) {
	good, weak := []string{"aes128-gcm", "aes128-ctr", "aes256-ctr"}, []string{"aes128-cbc", "3des-cbc"}
	for list, want := range map[string]string{
		"aes256-ctr":            "aes256-ctr",
		"aes256-ctr,aes128-ctr": "aes128-ctr aes256-ctr", // the order is ours
		"3des-cbc,aes256-ctr":   "aes256-ctr 3des-cbc",
		"+3des-cbc":             "aes128-gcm aes128-ctr aes256-ctr 3des-cbc",
		"^aes128-cbc,aes9":      "aes128-gcm aes128-ctr aes256-ctr aes128-cbc",
		"-*-ctr":                "aes128-gcm",
		"-*":                    "",
		"chacha":                "",
	} {
		if got := strings.Join(choose(list, good, weak), " "); got != want {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}

// configured writes ssh_config for a server of this process.
func configured(t *testing.T, f *fakeServer, config string) Options {
	t.Helper()
	o := f.options(t)
	o.ConfigFile = filepath.Join(o.Home, ".ssh", "config")
	must(t, os.WriteFile(o.ConfigFile, []byte(config), 0o600))
	return o.withDefaults()
}

// What ssh_config forbids is not used, what it adds is, as read from the file and as
// the client tells it (hazard SSHC-10).
func TestSSHC10AlgorithmsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	program, noProgram := exec.LookPath("ssh")
	if noProgram != nil {
		require.Missing(t, "ssh", "package openssh-client")
	}
	for _, c := range []struct {
		config string
		server gossh.Config
		works  bool
	}{
		{"", gossh.Config{}, true},
		{"Ciphers aes256-ctr\n", gossh.Config{Ciphers: []string{gossh.CipherAES256CTR}}, true},
		{"Ciphers aes256-ctr\n", gossh.Config{Ciphers: []string{gossh.CipherAES128CTR}}, false},
		{"Ciphers -aes256-*\n", gossh.Config{Ciphers: []string{gossh.CipherAES256CTR}}, false},
		{"Ciphers aes256-ctr\nMACs hmac-sha2-512\n", gossh.Config{MACs: []string{gossh.HMACSHA512}}, true},
		{"Ciphers aes256-ctr\nMACs hmac-sha2-512\n", gossh.Config{MACs: []string{gossh.HMACSHA256}}, false},
		{"", gossh.Config{KeyExchanges: []string{gossh.InsecureKeyExchangeDH1SHA1}}, false},
		{"KexAlgorithms +diffie-hellman-group1-sha1\n", gossh.Config{KeyExchanges: []string{gossh.InsecureKeyExchangeDH1SHA1}}, true},
		{"KexAlgorithms ecdh-sha2-nistp256\n", gossh.Config{KeyExchanges: []string{gossh.KeyExchangeECDHP384}}, false},
		{"HostKeyAlgorithms ssh-ed25519\n", gossh.Config{}, true},
		{"HostKeyAlgorithms rsa-sha2-512\n", gossh.Config{}, false}, // the server has none
	} {
		f := startFake(t, func(f *fakeServer) { f.config.Config = c.server })
		for _, ssh := range []string{"", program} {
			o := configured(t, f, c.config)
			o.SSHProgram = ssh
			h, err := resolve(t.Context(), o, o.Host, o.User, o.Port)
			must(t, err)
			if c.config == "" && !cmp.Equal(h.algorithms, algorithms{}, cmp.AllowUnexported(algorithms{})) {
				t.Errorf("%q: nothing was asked for, and there is %v", ssh, h.algorithms)
			}
			l, err := dial(t.Context(), o, h)
			switch {
			case err == nil:
				l.close()
				if !c.works {
					t.Errorf("%q, %q: what is forbidden was used", ssh, c.config)
				}
			case c.works:
				t.Errorf("%q, %q: %v", ssh, c.config, err)
			default:
				wantKind(t, c.config, err, ops.KindUnavailable, "the key exchange")
			}
		}
	}
}

func TestSSHC10AddressOfTheConfiguration(t *testing.T) {
	from := make(chan string, 1)
	f := startFake(t, func(f *fakeServer) {
		f.wrap = func(c net.Conn) net.Conn {
			from <- c.RemoteAddr().String()
			return c
		}
	})
	try := func(config string) error {
		o := configured(t, f, config)
		h, err := resolve(t.Context(), o, o.Host, o.User, o.Port)
		must(t, err)
		l, err := dial(t.Context(), o, h)
		if err == nil {
			l.close()
		}
		return err
	}
	for config, want := range map[string]string{
		"": "127.0.0.1:", "BindAddress 127.0.0.2\n": "127.0.0.2:", "AddressFamily inet\nBindAddress localhost\n": "127.0.0.1:",
	} {
		must(t, try(config))
		if got := <-from; !strings.HasPrefix(got, want) {
			t.Errorf("%q: from %s", config, got)
		}
	}
	wantKind(t, "another family", try("AddressFamily inet6\n"), ops.KindUnavailable, "127.0.0.1")
	wantKind(t, "another's address", try("BindAddress 192.0.2.1\n"), ops.KindUnavailable, "BindAddress 192.0.2.1")
	wantKind(t, "no address", try("BindAddress no-such-host.invalid\n"), ops.KindUnavailable, "BindAddress no-such-host.invalid")
}
