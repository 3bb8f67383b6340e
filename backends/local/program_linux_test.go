package local

// program runs one of the programs that tests start.
func program(name string, args []string) int {
	if name == writerArg {
		return writeForever(args[0], args[1] == namedTemps)
	}
	return runAndHang(args[0], args[1])
}
