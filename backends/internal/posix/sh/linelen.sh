# $1 path, $2 line: its length
p_walk "$1"
p_regular
{
	p_proof
	p_l=$(tail -n "+$2" <"$p_F" | head -n 1 | wc -c)
	p_mark len "$p_l"
	p_mark ok
	exit 0
} 2>/dev/null 3<"./$p_B"
p_die EACCES
