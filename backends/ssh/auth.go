package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/piremote/piremote/tools/ops"
)

// agentTimeout bounds asking an ssh-agent for its keys (hazard SSHC-09).
const agentTimeout = 5 * time.Second

// auth collects what is offered to one host. It is used for one connection.
type auth struct {
	options Options
	hop     hop
	skipped []string // keys that could not be used, and why
	conn    net.Conn // to the agent
	asked   bool     // a person or a callback was asked for something

	mu      sync.Mutex
	offered []string // fingerprints with where they come from, as they were tried
	allowed []string // methods that the server still accepts
}

// configure puts the ways to authenticate into a configuration: explicit keys
// first, then those of the agent, then default files, each key once (hazard
// SSHC-08).
func (a *auth) configure(ctx context.Context, config *gossh.ClientConfig) {
	config.Auth = []gossh.AuthMethod{gossh.PublicKeysCallback(func() ([]gossh.Signer, error) { return a.signers(ctx), nil })}
	if answer := a.options.Answer; answer != nil {
		config.Auth = append(config.Auth, gossh.KeyboardInteractive(func(name, instruction string, questions []string, echos []bool) ([]string, error) {
			if len(questions) > 0 {
				a.asked = true
			}
			return answer(plain(name), plain(instruction), questions, echos)
		}))
	}
	if password := a.options.Password; password != nil {
		config.Auth = append(config.Auth, gossh.PasswordCallback(func() (string, error) {
			a.asked = true
			return password(ctx)
		}))
	}
	config.AuthCallback = func(c *gossh.ClientAuthContext) (gossh.AuthMethod, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.allowed = c.AllowedMethods
		return nil, nil //nolint:nilnil // the library's own choice
	}
}

func (a *auth) close() {
	if a.conn != nil {
		_ = a.conn.Close() // nothing is pending there
	}
}

// source is a key and where it comes from.
type source struct {
	signer gossh.Signer
	from   string
}

// signers lists the keys in the order in which they are offered.
func (a *auth) signers(ctx context.Context) []gossh.Signer {
	agents := a.agentSigners(ctx)
	inAgent := map[string]gossh.Signer{}
	for _, s := range agents {
		inAgent[string(s.PublicKey().Marshal())] = s
	}
	var list []source
	files := func(names []string, explicit bool) {
		for _, file := range names {
			list = append(list, a.keysOf(ctx, file, explicit, inAgent)...)
		}
	}
	files(a.hop.identities, true)
	if !a.hop.only {
		for _, s := range agents {
			list = append(list, source{s, "agent"})
		}
	}
	files(a.hop.defaults, false)
	list = append(a.certified(list), list...)

	var signers []gossh.Signer
	seen := map[string]bool{}
	for _, s := range list {
		if key := string(s.signer.PublicKey().Marshal()); !seen[key] {
			seen[key] = true
			signers = append(signers, a.observed(s))
		}
	}
	return signers
}

// keysOf returns the signers for a key file: one of the agent if it has the key,
// else the file's own, with the certificate beside it before the plain key.
func (a *auth) keysOf(ctx context.Context, file string, explicit bool, inAgent map[string]gossh.Signer) []source {
	key, err := loadKey(file)
	if err != nil {
		a.skip(explicit, file, err)
		return nil
	}
	signer := inAgent[string(key.public.Marshal())]
	switch {
	case signer != nil:
	case key.signer != nil:
		signer = key.signer
	case key.locked && a.options.Passphrase != nil:
		signer = &lockedSigner{key: key, ask: func() ([]byte, error) {
			a.asked = true
			return a.options.Passphrase(ctx, file)
		}}
	case key.locked:
		a.skip(explicit, file, errors.New("it needs a passphrase; add it to the agent with ssh-add"))
		return nil
	default:
		a.skip(explicit, file, errors.New("there is only its public half and the agent does not have it"))
		return nil
	}
	var list []source
	if cert := certificate(file+"-cert.pub", signer); cert != nil {
		list = append(list, source{cert, file + "-cert.pub"})
	}
	return append(list, source{signer, file})
}

// certified returns signers for the certificates of CertificateFile.
func (a *auth) certified(list []source) []source {
	var certs []source
	for _, file := range a.hop.certificates {
		for _, s := range list {
			if cert := certificate(file, s.signer); cert != nil {
				certs = append(certs, source{cert, file})
				break
			}
		}
	}
	return certs
}

func (a *auth) skip(explicit bool, file string, err error) {
	if explicit {
		a.skipped = append(a.skipped, fmt.Sprintf("%s: %v", file, err))
	}
}

// agentSigners asks the agent. One that is dead or slow is passed over.
func (a *auth) agentSigners(ctx context.Context) []gossh.Signer {
	if a.hop.agent == "" {
		return nil
	}
	skip := func(err error) []gossh.Signer {
		a.skipped = append(a.skipped, fmt.Sprintf("agent %s: %v", a.hop.agent, err))
		return nil
	}
	askCtx, cancel := context.WithTimeout(ctx, min(agentTimeout, a.options.ConnectTimeout/3))
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(askCtx, "unix", a.hop.agent)
	if err != nil {
		return skip(err)
	}
	a.conn = conn
	// A touch or a question may take its time, but no longer than connecting.
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	if deadline, ok := askCtx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		return skip(err)
	}
	_ = conn.SetDeadline(time.Time{})
	return signers
}

// refused is the error of an authentication that failed.
func (a *auth) refused(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	msg := fmt.Sprintf("%s refused to let %s in", a.hop.address(), a.hop.user)
	if len(a.offered) == 0 {
		msg += "; no key was offered"
	}
	msg += a.tried()
	if len(a.allowed) > 0 {
		msg += "; the server accepts: " + plain(strings.Join(a.allowed, ", "))
	}
	return &ops.TransportError{Kind: ops.KindAuth, Target: a.hop.label(), Err: err, Msg: msg}
}

// cutOff adds to the error of a connection that ended during authentication what was
// offered until then: some servers hang up on too many keys without a word.
func (a *auth) cutOff(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return unavailable(a.hop, err.Error()+a.tried(), err)
}

// tried says what was offered and what could not be. The lock is held.
func (a *auth) tried() (text string) {
	if len(a.offered) > 0 {
		text += "; offered: " + strings.Join(a.offered, ", ")
	}
	if len(a.skipped) > 0 {
		text += "; not usable: " + strings.Join(a.skipped, ", ")
	}
	return text
}

// observed notes a key as offered when the library takes it up.
func (a *auth) observed(s source) gossh.Signer {
	o := &observedSigner{Signer: s.signer, note: func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.offered = append(a.offered, fmt.Sprintf("%s (%s)", gossh.FingerprintSHA256(s.signer.PublicKey()), s.from))
	}}
	if as, ok := s.signer.(gossh.AlgorithmSigner); ok {
		o.algorithms = as
		return &observedAlgorithmSigner{o}
	}
	return o
}

type observedSigner struct {
	gossh.Signer
	algorithms gossh.AlgorithmSigner
	once       sync.Once
	note       func()
}

// PublicKey implements gossh.Signer.
func (o *observedSigner) PublicKey() gossh.PublicKey {
	o.once.Do(o.note)
	return o.Signer.PublicKey()
}

// observedAlgorithmSigner keeps the ability to sign with RSA-SHA2.
type observedAlgorithmSigner struct{ *observedSigner }

// Algorithms implements gossh.MultiAlgorithmSigner.
func (o *observedAlgorithmSigner) Algorithms() []string {
	if m, ok := o.algorithms.(gossh.MultiAlgorithmSigner); ok {
		return m.Algorithms()
	}
	kind := o.Signer.PublicKey().Type()
	switch kind {
	case gossh.KeyAlgoRSA:
		return []string{gossh.KeyAlgoRSASHA512, gossh.KeyAlgoRSASHA256}
	case gossh.CertAlgoRSAv01:
		return []string{gossh.CertAlgoRSASHA512v01, gossh.CertAlgoRSASHA256v01}
	}
	return []string{kind}
}

// SignWithAlgorithm implements gossh.AlgorithmSigner.
func (o *observedAlgorithmSigner) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*gossh.Signature, error) {
	return o.algorithms.SignWithAlgorithm(rand, data, algorithm)
}
