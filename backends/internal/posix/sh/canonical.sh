p_walk "$1"
case $p_K in
EACCES) case $p_T in ?*) p_die EACCES ;; esac ;;
ENOTDIR) p_die ENOTDIR ;;
esac
printf "%s/%s/%s" "$p_W" "$p_B" "$p_T"
p_mark ok
