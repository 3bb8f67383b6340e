# $1 folder, $2 root or empty, then extra roots. Prints key=value, each ended by a NUL.
p_say() { printf "%s\0" "$1=$2"; }
p_find() {
	p_x=$(command -v "$1" 2>/dev/null) || p_x=
	case $p_x in
	/*) ;;
	"$1") for p_d in /bin /usr/bin; do [ -x "$p_d/$1" ] && p_x=$p_d/$1; done ;;
	esac
	case $p_x in /*) p_say "$2" "$p_x" ;; *) p_x= ;; esac
}
p_yes() { p_say "$1" y; }
p_say os "$(uname -s 2>/dev/null)"
p_say home "${HOME-}"
p_say tmp "${TMPDIR:-/tmp}"
p_say uid "$(id -u 2>/dev/null)"
p_find bash bash
p_find sh sh
p_find pwsh pwsh
p_find powershell powershell
p_find setsid setsid
p_find rg rg
p_find readlink readlink
p_find grep grep
p_find tail tail
p_find wc wc
p_find ps ps
[ "$(printf abcd | head -c 2 2>/dev/null)" = ab ] && p_yes head
[ "$(printf "a\nb\nc\n" | tail -n +2 2>/dev/null | head -n 1)" = b ] && p_yes tailn
case $(stat -c "%f %h" / 2>/dev/null) in
?*) p_say stat c ;;
*) case $(stat -f %Xp / 2>/dev/null) in ?*) p_say stat f ;; esac ;;
esac
p_l=
[ -r /proc/self/stat ] && IFS= read -r p_l </proc/self/stat
case $p_l in ?*) p_yes proc ;; esac
[ "$(printf "a\000bc\n" | grep -cF -e bc 2>/dev/null)" = 1 ] && p_yes grepnul
case $(mv --help 2>&1 </dev/null) in *-T*) p_say mvT -T ;; esac
case $(sync --help 2>&1 </dev/null) in *FILE*) p_yes sync ;; esac
case $(cp --help 2>&1 </dev/null) in *--attributes-only*) p_yes cpattr ;; esac
sleep 0.01 2>/dev/null && p_yes sleep
[ "$(find /dev/null -print0 2>/dev/null | tr "\000" x)" = /dev/nullx ] && p_yes print0
[ "$(printf "a\000" | xargs -0 printf "%sx" 2>/dev/null)" = ax ] && p_yes xargs0
if cd -P "$1" 2>/dev/null; then
	p_R=
	p_Q=
	p_here
	p_say dir "$p_W"
	case $2 in
	?*)
		if cd -P "$2" 2>/dev/null; then
			p_here
			p_say root "$p_W"
		fi
		;;
	esac
	shift 2
	for p_x in "$@"; do
		p_W=
		cd -P "$p_x" 2>/dev/null && p_here
		p_say extra "$p_W"
	done
elif [ -e "$1" ]; then
	p_yes notdir
fi
p_mark ok
