// Package docker is the backend for a folder in a running container. Commands
// run by exec; files go through the same shell, and so through the same
// namespaces that commands see. The container is pinned by its full id.
//
// The daemon is found as the docker command finds it: by option, DOCKER_HOST,
// the current context of its configuration, or the default socket.
package docker
