p_walk "$1"
p_X=.
case $p_K in
"") [ "$p_B" = . ] || p_die ENOTDIR ;;
EACCES)
	case $p_T in ?*) p_die EACCES ;; esac
	# It can't be entered, but perhaps its names can be read.
	p_X=./$p_B
	;;
*) p_die "$p_K" ;;
esac
[ -r "$p_X" ] || p_die EACCES
for p_f in "$p_X"/.* "$p_X"/*; do
	p_b=${p_f##*/}
	if [ -h "$p_f" ]; then
		p_t=l
	elif [ -f "$p_f" ]; then
		p_t=f
	elif [ -d "$p_f" ]; then
		case $p_b in . | ..) continue ;; esac
		p_t=d
	elif [ -p "$p_f" ]; then
		p_t=p
	elif [ -S "$p_f" ]; then
		p_t=s
	elif [ -c "$p_f" ]; then
		p_t=c
	elif [ -b "$p_f" ]; then
		p_t=b
	else
		case $p_b in . | .. | "*" | ".*") continue ;; esac
		p_t=u
	fi
	printf "%s%s\0" "$p_t" "$p_b"
done
p_mark ok
