package ssh

import (
	"errors"
	"io"
	"os"
	"sync"

	gossh "golang.org/x/crypto/ssh"
)

// keyFile is a private key, or what is known of one.
type keyFile struct {
	file   string
	data   []byte
	public gossh.PublicKey
	signer gossh.Signer // nil if it is locked, or only the public half is there
	locked bool
}

// loadKey reads a key file. The public half of an encrypted key is known from
// the file itself or from the .pub beside it.
func loadKey(file string) (keyFile, error) {
	k := keyFile{file: file}
	var err error
	if k.data, err = os.ReadFile(file); err != nil { //nolint:gosec // the user's own key
		if k.public = publicHalf(file); k.public != nil {
			return k, nil
		}
		return k, err
	}
	k.signer, err = gossh.ParsePrivateKey(k.data)
	var locked *gossh.PassphraseMissingError
	switch {
	case err == nil:
		k.public = k.signer.PublicKey()
		return k, nil
	case errors.As(err, &locked):
		k.locked = true
		if k.public = locked.PublicKey; k.public == nil {
			k.public = publicHalf(file)
		}
		if k.public == nil {
			return k, errors.New("it is encrypted and its public half " + file + ".pub is not there")
		}
		return k, nil
	}
	// Perhaps the file is a public key, for a private one in the agent.
	if pub, _, _, _, perr := gossh.ParseAuthorizedKey(k.data); perr == nil {
		k.public = pub
		return k, nil
	}
	return k, err
}

func publicHalf(file string) gossh.PublicKey {
	data, err := os.ReadFile(file + ".pub") //nolint:gosec // the user's own key
	if err != nil {
		return nil
	}
	key, _, _, _, err := gossh.ParseAuthorizedKey(data)
	if err != nil {
		return nil
	}
	return key
}

// certificate returns a signer for the certificate in file if it is of signer's
// key.
func certificate(file string, signer gossh.Signer) gossh.Signer {
	data, err := os.ReadFile(file) //nolint:gosec // the user's own certificate
	if err != nil {
		return nil
	}
	key, _, _, _, err := gossh.ParseAuthorizedKey(data)
	if err != nil {
		return nil
	}
	cert, ok := key.(*gossh.Certificate)
	if !ok {
		return nil
	}
	s, err := gossh.NewCertSigner(cert, signer)
	if err != nil {
		return nil
	}
	return s
}

// lockedSigner asks for the passphrase when the server accepts the key, not
// before.
type lockedSigner struct {
	key keyFile
	ask func() ([]byte, error)

	once   sync.Once
	signer gossh.AlgorithmSigner
	err    error
}

// PublicKey implements gossh.Signer.
func (l *lockedSigner) PublicKey() gossh.PublicKey { return l.key.public }

// Sign implements gossh.Signer.
func (l *lockedSigner) Sign(rand io.Reader, data []byte) (*gossh.Signature, error) {
	return l.SignWithAlgorithm(rand, data, "")
}

// SignWithAlgorithm implements gossh.AlgorithmSigner.
func (l *lockedSigner) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*gossh.Signature, error) {
	l.once.Do(l.unlock)
	if l.err != nil {
		return nil, l.err
	}
	return l.signer.SignWithAlgorithm(rand, data, algorithm)
}

func (l *lockedSigner) unlock() {
	passphrase, err := l.ask()
	if err != nil {
		l.err = err
		return
	}
	signer, err := gossh.ParsePrivateKeyWithPassphrase(l.key.data, passphrase)
	if err != nil {
		l.err = err
		return
	}
	as, ok := signer.(gossh.AlgorithmSigner)
	if !ok {
		l.err = errors.New(l.key.file + ": its kind of key can't sign")
		return
	}
	l.signer = as
}
