# p_marked sets p_M to the processes that carry $1 in their environment.
p_marked() {
	p_M=
	case $p_proc in "") return 0 ;; esac
	case $p_grepnul in
	y)
		for p_f in $(grep -lsF -e "$1" /proc/[0-9]*/environ 2>/dev/null); do
			p_f=${p_f#/proc/}
			p_M="$p_M${p_f%%/*} "
		done
		;;
	*)
		# This grep stops at a NUL. One pass with headers names candidates, and
		# each of them is looked at alone, since an environment can hold a header.
		p_f=$(tail -n +1 /proc/[0-9]*/environ 2>/dev/null | tr "\000" "\n" | grep -F -e "==> /proc/" -e "$1")
		p_o=
		IFS=$p_n
		set -f
		for p_l in $p_f; do
			case $p_l in
			"==> /proc/"*)
				p_o=${p_l#"==> /proc/"}
				p_o=${p_o%%/*}
				;;
			*)
				case $(tr "\000" "\n" 2>/dev/null <"/proc/$p_o/environ" | grep -F -e "$1") in
				?*) p_M="$p_M$p_o " ;;
				esac
				;;
			esac
		done 2>/dev/null
		unset IFS
		set +f
		;;
	esac
}

# p_began sets p_b to the start of process $1 in ticks since the boot; it is empty
# for the dead and for the kernel's own.
p_began() {
	p_b=
	p_l=
	IFS= read -r p_l 2>/dev/null <"/proc/$1/stat" || return 0
	# pid (name) state parent ...
	set -- ${p_l##*") "}
	case $1/$2 in [ZXx]/* | ?/2) ;; *) p_b=${20} ;; esac
}

# p_young says whether a process that began after this shell has no environment
# yet: for a moment of its exec nobody can see whose it is.
p_young() {
	case $p_proc in "") return 1 ;; esac
	p_began "$$"
	p_o=$p_b
	for p_f in $(grep -Ls -e "" /proc/[0-9]*/environ 2>/dev/null); do
		p_f=${p_f#/proc/}
		p_began "${p_f%%/*}"
		[ "${p_b:-0}" -ge "${p_o:-1}" ] && return 0
	done
	return 1
}
