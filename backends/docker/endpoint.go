package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

const defaultHost = "unix:///var/run/docker.sock"

// endpoint is where a daemon listens.
type endpoint struct {
	Host   string // unix:///path, tcp://host:port …
	Source string // where the choice comes from
	TLS    string // folder with ca.pem, cert.pem and key.pem; empty for none
	API    string // version that DOCKER_API_VERSION demands; empty: negotiated
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
}

// String names the daemon in sentences.
func (e endpoint) String() string { return fmt.Sprintf("%s (%s)", e.Host, e.Source) }

// resolveEndpoint finds the daemon: option, DOCKER_HOST, the context that
// DOCKER_CONTEXT or the configuration names, the default (hazard DKX-11).
func resolveEndpoint(o Options) (endpoint, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	e := endpoint{Host: o.Host, Source: "as configured"}
	if e.Host == "" {
		e = endpoint{Host: o.Getenv("DOCKER_HOST"), Source: "from DOCKER_HOST"}
	}
	if e.Host != "" && o.Getenv("DOCKER_TLS_VERIFY") != "" && strings.HasPrefix(e.Host, "tcp://") {
		if e.TLS = o.Getenv("DOCKER_CERT_PATH"); e.TLS == "" {
			e.TLS = configDir(o)
		}
	}
	if e.Host == "" {
		var err error
		if e, err = contextEndpoint(o); err != nil {
			return endpoint{}, err
		}
	}
	if e.Host == "" {
		e = endpoint{Host: defaultHost, Source: "the default"}
	}
	e.API = strings.TrimPrefix(o.Getenv("DOCKER_API_VERSION"), "v")
	if strings.HasPrefix(e.Host, "ssh://") {
		if o.Dial == nil {
			return endpoint{}, refuse(e, "the Docker daemon at %s is behind SSH, which is not set up here; name its socket or a tcp:// address", e)
		}
		e.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.Dial(ctx, e.Host) }
	}
	return e, nil
}

func refuse(e endpoint, format string, args ...any) error {
	return &ops.TransportError{Kind: ops.KindUnavailable, Target: e.Host, Msg: fmt.Sprintf(format, args...)}
}

func configDir(o Options) string {
	if o.ConfigDir != "" {
		return o.ConfigDir
	}
	if dir := o.Getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	return filepath.Join(o.Home, ".docker")
}

// contextEndpoint reads the docker command's current context.
func contextEndpoint(o Options) (endpoint, error) {
	name := o.Getenv("DOCKER_CONTEXT")
	dir := configDir(o)
	if name == "" {
		var cfg struct {
			CurrentContext string `json:"currentContext"`
		}
		if err := readJSON(filepath.Join(dir, "config.json"), &cfg); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return endpoint{}, refuse(endpoint{}, "the docker configuration in %s can't be read: %v", dir, err)
		}
		name = cfg.CurrentContext
	}
	if name == "" || name == "default" {
		return endpoint{}, nil
	}
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	var meta struct {
		Endpoints struct {
			Docker struct {
				Host string `json:"Host"`
				Skip bool   `json:"SkipTLSVerify"`
			} `json:"docker"`
		} `json:"Endpoints"`
	}
	if err := readJSON(filepath.Join(dir, "contexts", "meta", id, "meta.json"), &meta); err != nil || meta.Endpoints.Docker.Host == "" {
		return endpoint{}, refuse(endpoint{}, "the docker context %q can't be read in %s; docker context ls lists those that exist", name, dir)
	}
	e := endpoint{Host: meta.Endpoints.Docker.Host, Source: "from the docker context " + name}
	if tls := filepath.Join(dir, "contexts", "tls", id, "docker"); exists(tls) {
		e.TLS = tls // and it is verified, whatever the context says
	} else if meta.Endpoints.Docker.Skip {
		return endpoint{}, refuse(e, "the docker context %q reaches %s without looking whom it speaks to; give it the authority: docker context update %s --docker host=%s,ca=FILE", name, e.Host, name, e.Host)
	}
	return e, nil
}

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

func readJSON(file string, v any) error {
	data, err := os.ReadFile(file) //nolint:gosec // the user's own configuration
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
