# $1 folder. Every path below it, each ended by a NUL: once for a regular file,
# twice for a folder, three times for a link and four times for anything else.
# What is in .git and node_modules is left out.
p_walk "$1"
case $p_K in ?*) p_die "$p_K" ;; esac
[ "$p_B" = . ] || p_die ENOTDIR
[ -r . ] || p_die EACCES
printf "%s" "$p_W"
p_mark dir
find . -type d -print0 -print0 \( \( -name .git -o -name node_modules \) -prune -o -name "*" \) -o -type l -print0 -print0 -print0 -o -type f -print0 -o -print0 -print0 -print0 -print0 2>/dev/null
p_mark list "$?"
p_mark ok
