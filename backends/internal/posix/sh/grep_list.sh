# $1 folder, $2 texts, a line each, $3 -i or empty, $4 bytes of names that follow,
# each ended by a NUL. Prints U and a name for files that can't be read, F and a name
# for those that hold one of the texts.
p_walk "$1"
[ "$p_B$p_K" = . ] || p_die ENOENT
# Some greps see a line only to its first NUL. They get the files once more with NUL
# as the end of a line, where that fits into memory; larger ones count as holding one.
case $p_grepnul in
y) p_z=: ;;
*) p_z="find \"\$@\" -prune -size -131072 -exec grep -zlsF $3 -e \"\$p_lit\" {} +; find \"\$@\" -prune -size +131071" ;;
esac
p_I="for p_f in \"\$@\"; do [ -r \"\$p_f\" ] || printf \"U%s\n\" \"\$p_f\"; done; { grep -lsF $3 -e \"\$p_lit\" -- \"\$@\"; $p_z; } </dev/null | while IFS= read -r p_f; do printf \"F%s\n\" \"\$p_f\"; done"
p_lit=$2
export p_lit
p_take "$4" | xargs -0 "$p_sh" -c "$p_I" sh 2>/dev/null
p_mark names
p_mark ok
