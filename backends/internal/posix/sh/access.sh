p_walk "$1"
p_regular
{
	p_proof
	p_mark ok
	exit 0
} 2>/dev/null 3<"./$p_B"
p_die EACCES
