# $1 folder, $2 root or empty, then extra roots
if cd -P "$1" 2>/dev/null; then
	p_here
	printf "%s\0" "dir=$p_W"
	case $2 in
	?*)
		if cd -P "$2" 2>/dev/null; then
			p_here
			printf "%s\0" "root=$p_W"
		fi
		;;
	esac
	shift 2
	for p_x in "$@"; do
		p_W=
		cd -P "$p_x" 2>/dev/null && p_here
		printf "%s\0" "extra=$p_W"
	done
elif [ -e "$1" ]; then
	printf "%s\0" notdir=y
fi
p_mark ok
