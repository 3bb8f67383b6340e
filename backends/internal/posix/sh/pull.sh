# $1 folder, $2 bytes of one file at most, $3 bytes of names that follow, each
# ended by a NUL. Prints the beginning of each file, in the order of the names.
p_walk "$1"
[ "$p_B$p_K" = . ] || p_die ENOENT
p_I="for p_f in \"\$@\"; do if [ -f \"\$p_f\" ]; then { p_j=\$(readlink /proc/self/fd/3); case \$p_j in \"\$p_R\"/* | \"\") head -c $2 <&3; p_s=ok\$? ;; *) p_s=out ;; esac; } 3<\"\$p_f\" || p_s=no; elif [ -e \"\$p_f\" ] || [ -h \"\$p_f\" ]; then p_s=no; else p_s=gone; fi; echo; echo \"\$p_N file \$p_s\"; done"
p_R=$p_r
export p_R p_N
p_take "$3" | xargs -0 "$p_sh" -c "$p_I" sh 2>/dev/null
p_mark ok
