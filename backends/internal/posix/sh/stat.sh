p_walk "$1"
case $p_K in
EACCES) case $p_T in ?*) p_die EACCES ;; esac ;;
?*) p_die "$p_K" ;;
esac
p_s=$(p_meta "./$p_B" 2>&1) || p_text "$p_s"
p_mark meta "$p_s"
p_mark ok
