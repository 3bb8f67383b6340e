# $1 path, $2 bytes at most (empty: no limit)
p_walk "$1"
p_regular
{
	p_proof
	p_s=$(p_meta "./$p_B")
	p_mark meta "$p_s"
	case $2$p_head in
	"" | y) cat <&3 || p_mark short ;;
	*y) head -c "$2" <&3 || p_mark short ;;
	*) cat <&3 || p_mark short ;;
	esac
	p_mark ok
	exit 0
} 2>/dev/null 3<"./$p_B"
p_die EACCES
