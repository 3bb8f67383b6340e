package local

// program runs one of the programs that tests start.
func program(name string, args []string) int {
	switch name {
	case writerArg:
		return writeForever(args[0], args[1] == namedTemps)
	case editorArg:
		return editAll(args[0], args[1], args[2], args[3])
	}
	return runAndHang(args[0], args[1])
}
