p_walk "$1"
case $p_K in
"")
	[ "$p_B" = . ] || p_die ENOTDIR
	;;
ENOENT)
	p_T=$p_B${p_T:+/$p_T}
	while :; do
		p_B=${p_T%%/*}
		case $p_B in
		"" | .) ;;
		..) p_die ENOENT ;;
		*)
			p_s=$(mkdir "./$p_B" 2>&1) || [ -d "./$p_B" ] || p_text "$p_s"
			cd -P "./$p_B" 2>/dev/null || p_die EACCES
			p_here || p_die EOUTSIDE
			;;
		esac
		case $p_T in
		*/*) p_T=${p_T#*/} ;;
		*) break ;;
		esac
	done
	;;
*) p_die "$p_K" ;;
esac
p_mark ok
