# $1 marker, $2 session or process group of the call or empty, $3 naps between
# TERM and KILL

# p_procs sets p_A to all processes, a word each: pid/parent/session/state.
p_procs() {
	p_A=
	p_c=
	case $p_proc in
	y) p_l=$(cat /proc/[0-9]*/stat 2>/dev/null) ;;
	*) p_l=$(ps -A -o pid= -o ppid= -o pgid= -o stat= 2>/dev/null) ;;
	esac
	IFS=$p_n
	set -f
	set -- $p_l
	unset IFS
	for p_l in "$@"; do
		case $p_proc in
		y)
			# pid (name) state parent group session; a name may hold anything.
			p_c=$p_c$p_l
			case $p_c in *") "*) ;; *) continue ;; esac
			p_i=${p_c%% *}
			set -- ${p_c##*") "}
			p_A="$p_A$p_i/$2/$4/$1 "
			p_c=
			;;
		*)
			set -- $p_l
			p_A="$p_A$1/$2/$3/$4 "
			;;
		esac
	done
	set +f
}

# p_tree sets p_T to the living processes of the tree: those with the marker,
# those of the session, their descendants, and the sessions that they lead.
p_tree() {
	p_marked "$p_mk"
	p_procs
	case $p_A in
	"")
		# Neither /proc nor ps: the group is all that can be reached.
		p_T=" "
		case $p_sid in ?*) kill -0 "-$p_sid" 2>/dev/null && p_T=" -$p_sid " ;; esac
		return 0
		;;
	esac
	p_T=" $p_M"
	while :; do
		p_g=
		for p_k in $p_A; do
			p_i=${p_k%%/*}
			case $p_i in 0 | 1 | "$$") continue ;; esac
			case $p_T in *" $p_i "*) continue ;; esac
			p_r=${p_k#*/}
			p_s=${p_r#*/}
			p_s=${p_s%%/*}
			p_r=${p_r%%/*}
			case $p_s in
			"$p_sid") ;;
			*) case $p_T in *" $p_r "* | *" $p_s "*) ;; *) continue ;; esac ;;
			esac
			p_T="$p_T$p_i "
			p_g=y
		done
		case $p_g in "") break ;; esac
	done
	for p_k in $p_A; do
		case $p_k in
		*/[ZXx]*)
			p_i=${p_k%%/*}
			case $p_T in *" $p_i "*) p_T="${p_T%%" $p_i "*} ${p_T#*" $p_i "}" ;; esac
			;;
		esac
	done
	for p_i in $p_T; do
		case $p_seen in *" $p_i "*) ;; *) p_seen="$p_seen$p_i " ;; esac
	done
}

# p_look is p_tree, twice if nothing is found: an exec under way hides a process for a
# moment, and one that starts itself anew may do so between the list and the look.
p_look() {
	p_tree
	case $p_T in " ") p_tree ;; esac
}

# p_gone waits up to $1 naps for the tree to end. Most looks are cheap ones at
# the processes that are known.
p_gone() {
	p_w=$1
	p_v=0
	while :; do
		sleep "$p_nap"
		p_w=$((p_w - 1))
		p_v=$((p_v + 1))
		p_g=
		if [ "$p_w" -gt 0 ] && [ "$((p_v % 8))" -gt 0 ]; then
			for p_i in $p_T; do
				kill -0 "$p_i" 2>/dev/null && p_g=y && break
			done
		fi
		case $p_g in y) continue ;; esac
		p_look
		case $p_T in " ") return 0 ;; esac
		[ "$p_w" -gt 0 ] || return 1
	done
}

p_mk=$1
p_sid=${2:-none}
p_seen=" "
p_grace=$3
p_look
for p_i in $p_T; do kill -TERM "$p_i" 2>/dev/null; done
case $p_T in " ") p_g= ;; *) p_g=y ;; esac
if [ -z "$p_g" ] || p_gone "$p_grace"; then :; else
	for p_round in 1 2 3; do
		# Stopped processes start no others: when nobody new shows up, all are held.
		p_held=" "
		for p_w in 1 2 3 4 5 6 7 8 9; do
			p_g=
			for p_i in $p_T; do
				case $p_held in *" $p_i "*) continue ;; esac
				kill -STOP "$p_i" 2>/dev/null
				p_held="$p_held$p_i "
				p_g=y
			done
			case $p_g in "") break ;; esac
			p_tree
		done
		for p_i in $p_T; do kill -KILL "$p_i" 2>/dev/null; done
		case $p_nap in 1) p_w=1 ;; *) p_w=15 ;; esac
		p_gone "$p_w" && break
	done
fi
p_c=0
for p_i in $p_seen; do
	case $p_T in
	*" $p_i "*)
		p_l=
		IFS= read -r p_l 2>/dev/null <"/proc/$p_i/comm" || p_l=$(ps -p "$p_i" -o comm= 2>/dev/null)
		printf "%s %s\0" "$p_i" "$p_l"
		;;
	*) p_c=$((p_c + 1)) ;;
	esac
done
p_mark killed "$p_c"
case ${4-} in /*/piremote-*) rm -rf "$4" ;; esac
p_mark ok
