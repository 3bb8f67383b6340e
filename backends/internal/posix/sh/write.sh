# $1 path, $2 bytes that follow on stdin, $3 random name, $4 version that the file
# must be of (empty: any)
# p_perm prints mode, owner, group and number of links of $1.
p_perm() {
	case $p_stat in
	c) stat -c "%a %u %g %h" "$1" ;;
	f) stat -f "%Mp%Lp %u %g %l" "$1" ;;
	*)
		# rwxrwxrwx as u=rwx,g=rwx,o=rwx is what chmod takes.
		p_a=$(ls -dn "$1") || return 1
		p_b=${p_a#?}
		p_c=${p_b#?????????}
		p_b=${p_b%"$p_c"}
		p_u=${p_b%??????}
		p_o=${p_b#??????}
		p_g=${p_b#???}
		p_g=${p_g%???}
		p_a=${p_c#* }
		p_b=u=$p_u,g=$p_g,o=$p_o
		while :; do
			case $p_b in
			*-*) p_b=${p_b%%-*}${p_b#*-} ;;
			*) break ;;
			esac
		done
		p_a=$(printf "%s\n" "$p_a" | { read -r p_l p_u p_g p_c && printf "%s %s %s" "$p_u" "$p_g" "$p_l"; })
		printf "%s %s\n" "$p_b" "$p_a"
		;;
	esac
}

p_U=$(umask)
p_walk "$1"
[ "$p_B" = . ] && p_die EISDIR
p_new=
case $p_K in
"") p_regular ;;
ENOENT) case $p_T in "") p_new=y ;; *) p_die ENOENT ;; esac ;;
*)
	[ -d "./$p_B" ] && p_die EISDIR
	p_die "$p_K"
	;;
esac
p_t=./.piremote-tmp-$3
p_Z=
p_clean() {
	rm -f "$p_t"
	case $p_Z in ?*) rm -rf "$p_Z" ;; esac
}
# p_fail ends with the text of an error, everything as it was.
p_fail() {
	trap - 0
	p_clean
	p_text "$*"
}
p_end() {
	trap - 0
	p_clean
	p_die "$@"
}
# p_room fails if what is missing of $1 bytes has no room: the head of BusyBox
# calls a full disk an I/O error.
p_room() {
	p_n=$(wc -c <"$p_t")
	set -- "$(($1 - p_n))" $(df -Pk . 2>/dev/null | tail -n 1)
	case ${5:-x} in *[a-zA-Z]*) return 0 ;; esac
	[ "$5" -gt "$(($1 / 1024))" ]
}
trap p_clean 0
trap "exit 1" 1 2 13 15
p_in=
p_m=
p_e=$4
p_v=
# p_version prints size, seconds, device, inode and nanoseconds of $1.
p_version() {
	case $p_stat in "") return 1 ;; esac
	p_x=$(p_meta "$1") || return 1
	set -- $p_x
	p_y=
	case $p_x in
	*.*)
		p_y=${p_x#*.}
		p_y=${p_y%% *}
		;;
	esac
	p_y=${p_y}000000000
	printf "%s %s %s %s %s" "$2" "$3" "$4" "$5" "${p_y%"${p_y#?????????}"}"
}
# p_expected ends with ECHANGED unless the file is of the version that is expected.
p_expected() {
	case $p_e in "") return 0 ;; esac
	p_x=$(p_version "./$p_B" 2>/dev/null)
	[ "$p_x" = "$p_e" ] || p_end ECHANGED
}
p_expected
if [ -z "$p_new" ]; then
	# Opened by its name for writing, a link that was swapped in would be followed and
	# what it names be made. What is open already can be opened again.
	[ -w "./$p_B" ] || {
		p_proof
		p_s=$({ : >>"$p_F"; } 2>&1) || p_fail "$p_s"
	} 2>/dev/null 3<"./$p_B" || p_end EACCES
	p_m=$(p_perm "./$p_B") || p_end EIO
	# No write bit at all refuses root too, whom the open above lets through.
	p_n=${p_m%% *}
	case $p_n in *=*) ;; *) p_n=00$p_n; p_n=${p_n#"${p_n%???}"} ;; esac
	case $p_n in *w* | *[2367]*) ;; *) p_end EACCES ;; esac
	case ${p_m##* } in 1) ;; *) p_in=links ;; esac
fi
if [ -w . ]; then :; elif [ -n "$p_new" ]; then
	p_s=$({ : >"$p_t"; } 2>&1) || p_fail "$p_s"
	rm -f "$p_t"
else
	p_in=folder
fi
umask 077
if [ "$p_in" = folder ]; then
	p_Z=${TMPDIR:-/tmp}/.piremote-tmp-$3
	p_s=$(mkdir "$p_Z" 2>&1) || {
		p_Z=
		p_fail "$p_s"
	}
	p_t=$p_Z/new
fi
# The attributes come first, so that the file is never more open than it will be.
p_s=$({ set -C && : >"$p_t"; } 2>&1) || p_fail "$p_s"
case $p_new$p_in$p_cpattr in y) [ -n "$p_new" ] || cp --attributes-only --preserve=all "./$p_B" "$p_t" 2>/dev/null ;; esac
touch "$p_t" 2>/dev/null
p_s=$({ p_take "$2" >"$p_t"; } 2>&1) || {
	p_room "$2" || p_end ENOSPC
	p_fail "$p_s"
}
p_n=$(wc -c <"$p_t")
[ "$p_n" -eq "$2" ] || p_end ESHORT "$((p_n))" "$2"
if [ -n "$p_new" ]; then
	chmod "$(printf %o "$((0666 & ~0$p_U))")" "$p_t" 2>/dev/null
elif [ -z "$p_in" ]; then
	# mode owner group links
	set -- "$1" "$2" "$3" $p_m
	p_o=$(p_perm "$p_t")
	case " $p_o " in
	*" $5 $6 "*) ;;
	*) chown "$5:$6" "$p_t" 2>/dev/null || p_in=owner ;;
	esac
	chmod "$4" "$p_t" 2>/dev/null || case $(p_perm "$p_t") in "$4 "*) ;; *) p_in=mode ;; esac
fi
# p_over copies the staged bytes into the file itself; the old ones are kept
# until that has worked.
p_over() {
	case $p_Z in
	"")
		p_Z=${TMPDIR:-/tmp}/.piremote-tmp-$3
		p_s=$(mkdir "$p_Z" 2>&1) || {
			p_Z=
			p_fail "$p_s"
		}
		;;
	esac
	{
		p_proof
		p_expected
		p_s=$(cat <"$p_F" 2>&1 >"$p_Z/old") || p_fail "$p_s"
		p_s=$({ cat "$p_t" >"$p_F"; } 2>&1) || {
			cat "$p_Z/old" >"$p_F" || p_end EUNKNOWN
			p_fail "$p_s"
		}
		case $p_sync in y) sync "$p_F" 2>/dev/null ;; esac
		:
	} 3<"./$p_B" || p_end EACCES
}
case $p_in in
"")
	case $p_sync in y) sync "$p_t" 2>/dev/null ;; esac
	p_v=$(p_meta "$p_t" 2>/dev/null)
	[ -d "./$p_B" ] && p_end EISDIR
	p_expected
	if p_s=$(mv -f $p_mvT -- "$p_t" "./$p_B" 2>&1 </dev/null); then
		case $p_sync in y) sync . 2>/dev/null ;; esac
	elif [ -n "$p_new" ]; then
		p_fail "$p_s"
	else
		p_in=rename
		p_v=
		p_over "$@"
	fi
	;;
*) p_over "$@" ;;
esac
trap - 0
p_clean
p_mark meta "$p_v"
printf "%s/%s" "$p_W" "$p_B"
p_mark ok "${p_new:-n}" "${p_in:--}"
