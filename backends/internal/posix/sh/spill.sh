# $1 folder or empty, $2 name, $3 bytes that follow on stdin, $4 nonce for a new
# folder
umask 077
p_d=$1
case $p_d in
"")
	for p_t in "${TMPDIR:-/tmp}" /tmp /var/tmp "${HOME:-/tmp}"; do
		mkdir "$p_t/piremote-$4" 2>/dev/null || continue
		p_d=$p_t/piremote-$4
		break
	done
	;;
esac
cd -P "$p_d" 2>/dev/null || p_die ENOENT
[ -h "./$2" ] && p_die EEXIST
p_s=$({ p_take "$3" >>"./$2"; } 2>&1) || p_text "$p_s"
p_s=$(p_meta "./$2")
p_mark meta "$p_s"
printf "%s" "$p_d"
p_mark ok
