# Becomes the helper, after it was found or has come in. The lines before this one
# set p_a and p_b, the halves of the marker, so that an echo of this text is no
# marker; p_c, the word that the helper is started with; p_s, the system and the
# machine; and if there is a helper for them: p_o and p_k, what they are called, p_h,
# the hash, p_z and p_n, the packed and the plain size, and p_v, what it says.
set -f
p_u=$(umask)
umask 077
exec 3<&0 </dev/null
p_i=$(id -u)
p_m=$p_a$p_b
p_f=./helper-$p_h
p_t=./new-$p_m
echo

p_say() {
	printf %s "$p_m $*"
	echo
}

p_no() {
	p_say no $*
	exit 0
}

# p_note tells why a folder is passed over, on one line whatever a program said.
p_note() {
	p_say note "$p_d" $*
	return 1
}

# p_look sets p_l and p_w to the mode and the owner of $1.
p_look() {
	p_l=$(LC_ALL=C ls -ldn "$1" 2>/dev/null) || p_l=
	set -- $p_l
	p_l=${1-}
	p_w=${3-}
}

# p_make makes the folder p_d, and the usual parent if that is all that is missing.
p_make() {
	p_e=
	case $p_d in */.cache/piremote) [ -d "${p_d%/*}" ] || p_e=$(mkdir "${p_d%/*}" 2>&1) ;; esac
	[ -d "${p_d%/*}" ] && p_e=$(mkdir "$p_d" 2>&1)
	[ -d "$p_d" ] || p_note "cannot be made: ${p_e:-there is no ${p_d%/*}}"
}

# p_enter enters the folder p_d, which is private afterwards, whatever its parents
# are: nothing below leaves it. To put something there it is made.
p_enter() {
	if [ -h "$p_d" ]
	then
		p_note is a link
		return 1
	fi
	[ -e "$p_d" ] || case $1 in
	put) p_make || return 1 ;;
	*) return 1 ;;
	esac
	[ -d "$p_d" ] || p_note is no folder || return 1
	cd -P "$p_d" 2>/dev/null || p_note cannot be entered || return 1
	case $PWD in
	*[[:cntrl:]]*)
		p_note has a name that is no line of text
		return 1
		;;
	esac
	p_look .
	case $p_w in
	"$p_i") ;;
	*)
		p_note belongs to another account
		return 1
		;;
	esac
	case $p_l in
	drwx--[-S]--- | drwx--[-S]---.) ;;
	*)
		p_note "is not private: its mode is $p_l, chmod 700 it"
		return 1
		;;
	esac
}

# p_safe is true if what has the name of the helper may be run or replaced.
p_safe() {
	if [ -h "$p_f" ]
	then
		p_note holds a link in the place of the helper
		return 1
	fi
	[ -f "$p_f" ] || p_note holds something else in the place of the helper || return 1
	p_look "$p_f"
	case $p_w in
	"$p_i") ;;
	*)
		p_note holds a helper that belongs to another account
		return 1
		;;
	esac
	case $p_l in
	-????-??-?*) ;;
	*)
		p_note "holds a helper that others can change: its mode is $p_l"
		return 1
		;;
	esac
}

# p_sum is true if a tool of the target says that the file $1 has the hash $2.
p_sum() {
	for p_x in "sha256sum" "busybox sha256sum" "openssl dgst -sha256" "shasum -a 256"
	do
		case "$($p_x <"$1" 2>/dev/null)" in
		*"$2"*) return 0 ;;
		esac
	done
	return 1
}

# p_runs is true if the program $1 runs here.
p_runs() {
	p_e=$("$1" version 2>&1)
	case $p_e in
	"$p_v") return 0 ;;
	esac
	return 1
}

# p_go becomes the helper. It gets the environment and the mask that this script
# got, but for the names of the folder it is in.
p_go() {
	p_say ok "$1" "$p_o" "$p_k" "$PWD/${p_f#./}"
	umask "$p_u"
	unset PWD OLDPWD
	exec "$p_f" "$p_c" "$p_m" <&3 3<&-
	exit 126
}

# p_find becomes the helper that is in the folder.
p_find() {
	[ -e "$p_f" ] || [ -h "$p_f" ] || return 1
	p_safe || return 1
	p_sum "$p_f" "$p_h" || p_note "holds a helper that was changed" || return 1
	p_runs "$p_f" || p_note "does not let the helper run: $p_e" || return 1
	p_go kept
}

# p_take copies the $1 bytes that come in. Nothing follows them, so that a tool that
# reads ahead does no harm.
p_take() {
	case $(echo ab | head -c 1 2>/dev/null) in
	a) head -c "$1" <&3 ;;
	*) dd bs=1 count="$1" <&3 2>/dev/null ;;
	esac
}

# p_fill unpacks what comes in into the new file. It reads to the end whatever
# happens, so that the next attempt begins where this one ended.
p_fill() {
	case $p_g in
	gzip) p_e=$(p_take "$p_z" | { gzip -dc >"$p_t"; cat >/dev/null; } 2>&1) ;;
	*) p_e=$(p_take "$p_n" | { cat >"$p_t"; cat >/dev/null; } 2>&1) ;;
	esac
}

# p_put takes the helper in and becomes it.
p_put() {
	if [ -e "$p_f" ] || [ -h "$p_f" ]
	then
		p_safe || return 1
	fi
	find . -type f -name "new-*" -mtime +0 -exec rm -f {} + 2>/dev/null
	{ echo exit 0 >"$p_t"; } 2>/dev/null || p_note cannot be written to || return 1
	chmod 700 "$p_t"
	if p_e=$("$p_t" 2>&1)
	then
		p_need
	else
		p_note "lets no program run: $p_e"
	fi
	rm -f "$p_t"
	return 1
}

# p_need asks for the helper and becomes it. That a program may run in the folder
# is known by now: where the helper does not, it will not run elsewhere either.
p_need() {
	p_g=plain
	case $(echo ok | gzip -c 2>/dev/null | gzip -dc 2>/dev/null) in ok) p_g=gzip ;; esac
	p_say need "$p_o" "$p_k" "$p_g"
	p_fill
	p_sum "$p_t" "$p_h" || p_note "did not take the helper: ${p_e:-what came in has another hash}" || return 1
	chmod 500 "$p_t"
	if p_runs "$p_t"
	then
		p_e=$(mv -f "$p_t" "$p_f" 2>&1) && p_go sent
		p_note "did not take the helper: $p_e"
	else
		rm -f "$p_t"
		p_no "the helper does not run there: $p_e"
	fi
}

p_try() {
	p_d=$2
	case $p_d in
	/*) p_enter "$1" && "p_$1" ;;
	*) return 1 ;;
	esac
}

# p_each tries the folders in turn.
p_each() {
	p_y=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
	p_try "$1" "${p_y:+$p_y/piremote}" ||
		p_try "$1" "${HOME:+$HOME/.piremote}" ||
		p_try "$1" "${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/piremote}" ||
		p_try "$1" "/var/tmp/piremote-$p_i" ||
		p_try "$1" "/tmp/piremote-$p_i" ||
		p_try "$1" "/dev/shm/piremote-$p_i"
}

case $p_h in
"") p_no "there is no helper for ${p_s:-a system that does not say its name}" ;;
esac
case $p_i in
"") p_no "the program id is not there, so that nothing is known of owners" ;;
esac
p_each find
p_sum /dev/null e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 ||
	p_no "none of sha256sum, busybox, openssl and shasum is there to hash the helper"
p_each put
p_no no folder can hold the helper
