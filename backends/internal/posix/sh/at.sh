# $1 folder, $2 root or empty
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
elif [ -e "$1" ]; then
	printf "%s\0" notdir=y
fi
p_mark ok
