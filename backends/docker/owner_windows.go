package docker

// owner can't be told: folders are shared by a machine between, which shows them as
// anybody's.
func owner(string) (uid, gid uint32, ok bool) { return 0, 0, false }
