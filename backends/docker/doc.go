// Package docker is the backend for a folder in a running container. Commands
// run by exec; files go through the same shell, and so through the same
// namespaces that commands see. The container is pinned by its full id.
//
// The daemon is found as the docker command finds it: by option, DOCKER_HOST,
// the current context of its configuration, or the default socket. The version
// of the API is negotiated at each Open.
//
// A container without a POSIX shell is refused with KindNoShell: files are not
// moved by the archive API, which does not see what commands see (hazard
// DKF-02).
//
// A container that ends, is paused or restarted while a command is under way is
// KindOutcomeUnknown and named; the next call on it is KindUnavailable as long
// as it does not run.
package docker
