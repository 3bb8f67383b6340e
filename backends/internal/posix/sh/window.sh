# $1 path, $2 first line, $3 lines, $4 bytes, $5 head bytes
p_walk "$1"
p_regular
{
	p_proof
	p_s=$(p_meta "./$p_B")
	p_mark meta "$p_s"
	head -c "$5" <"$p_F"
	p_mark head
	tail -n "+$2" <"$p_F" | head -n "$3" | head -c "$4"
	p_mark data
	p_l=$(wc -l <"$p_F") || p_die EIO
	p_c=$(wc -c <"$p_F")
	p_e=$(tail -c 1 <"$p_F" | wc -l)
	p_mark count "$p_l" "$p_c" "$p_e"
	p_mark ok
	exit 0
} 2>/dev/null 3<"./$p_B"
p_die EACCES
