# Shared by the scripts of this folder. Names begin with p_ so that no exported
# variable of the target is overwritten.
LC_ALL=C
export LC_ALL
case ${BASH_VERSION+x} in x) set -o posix ;; esac

# p_mark ends a part of the reply.
p_mark() { printf "\n%s %s\n" "$p_N" "$*"; }

# p_die ends the script with a code of errors.go.
p_die() {
	p_mark err "$@"
	exit 0
}

# p_text ends the script with the error text of a tool.
p_text() {
	printf "%s" "$*"
	p_die TEXT
}

# p_inside fails unless the physical path $1 is inside a root; it sets p_r to the
# innermost, and p_ro if nothing may be changed there. p_Q lists all roots where there
# are more than one: r or w, the path, a line feed.
p_inside() {
	p_r=$p_R
	p_ro=
	case $p_R in "") return 0 ;; esac
	case $p_Q in
	"")
		case $1/ in "$p_R"/*) return 0 ;; esac
		return 1
		;;
	esac
	p_q=$p_Q
	while :; do
		case $p_q in "") return 1 ;; esac
		p_r=${p_q%%"$p_n"*}
		p_q=${p_q#*"$p_n"}
		case $p_r in r*) p_ro=y ;; *) p_ro= ;; esac
		p_r=${p_r#?}
		case $1/ in "$p_r"/*) return 0 ;; esac
	done
}

# p_here sets p_W to the physical path of the current folder and fails if that
# is outside the roots.
p_here() {
	p_W=$(pwd -P && printf x) || p_die ENOENT
	p_W=${p_W%?x}
	p_inside "$p_W"
}

# p_frozen ends a script that would change something where nothing may be changed.
p_frozen() {
	case $p_may:$p_ro in :y) p_die EROFS ;; esac
}

# p_walk follows the absolute path $1 from folder to folder. Afterwards the
# current folder is inside the root and p_B is a name in it that is no link ("."
# if the path is a folder); p_K is empty, or why the path can't be followed to
# its end, and then p_T is what comes after p_B.
p_walk() {
	p_P=$1
	p_H=0
	while :; do
		p_T=
		p_K=
		if [ -z "$p_own" ] && [ -d "$p_P" ] && cd -P "$p_P" 2>/dev/null; then
			p_here || p_die EOUTSIDE
			p_frozen
			p_B=.
			return 0
		fi
		p_D=${p_P%/*}
		p_B=${p_P##*/}
		until cd -P "$p_D/" 2>/dev/null; do
			case $p_D in "") p_die EACCES ;; esac
			p_T=$p_B${p_T:+/$p_T}
			p_B=${p_D##*/}
			p_D=${p_D%/*}
		done
		p_here || p_die EOUTSIDE
		if [ -h "./$p_B" ]; then
			case $p_own in y) p_die EOUTSIDE ;; esac
			p_H=$((p_H + 1))
			[ "$p_H" -le 40 ] || p_die ELOOP
			p_J=$(readlink "./$p_B" && printf x) || p_die EIO
			p_J=${p_J%?x}
			case $p_J in
			/*) p_P=$p_J ;;
			*) p_P=$p_W/$p_J ;;
			esac
			p_P=$p_P${p_T:+/$p_T}
			while :; do
				case $p_P in
				?*/) p_P=${p_P%/} ;;
				*) break ;;
				esac
			done
			continue
		fi
		p_frozen
		if [ -d "./$p_B" ]; then
			p_K=EACCES
		elif [ -e "./$p_B" ]; then
			case $p_T in ?*) p_K=ENOTDIR ;; esac
		else
			p_K=ENOENT
		fi
		return 0
	done
}

# p_regular fails unless p_B is a regular file.
p_regular() {
	[ "$p_B" = . ] && p_die EISDIR
	case $p_T in "") [ -d "./$p_B" ] && p_die EISDIR ;; esac
	case $p_K in ?*) p_die "$p_K" ;; esac
	[ -f "./$p_B" ] || p_die ENOTREG
}

# p_proof fails unless the file that is open as 3 is inside the root: it may
# have been replaced by a link since it was looked at.
p_proof() {
	p_F=./$p_B
	case $p_proc in "") return 0 ;; esac
	p_F=/proc/self/fd/3
	case $p_R in "") return 0 ;; esac
	p_J=$(readlink /proc/self/fd/3) || return 0
	p_inside "$p_J" || p_die EOUTSIDE
}

# p_meta prints the metadata of $1, which is no link.
p_meta() {
	case $p_stat in
	c) stat -c "%f %s %Y %d %i %h %u %g %y" "$1" ;;
	f) stat -f "%Xp %z %m %d %i %l %u %g x%Fm" "$1" ;;
	*) ls -dn "$1" | head -n 1 ;;
	esac
}

# p_take copies the next $1 bytes of stdin, after which nothing else follows.
p_take() {
	case $p_head in
	"") dd bs=1 count="$1" 2>/dev/null ;;
	*) head -c "$1" ;;
	esac
}

p_mark start
