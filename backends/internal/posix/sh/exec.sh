# $1 folder, $2 interpreter, $3 how the command comes: arg, bulk or pwsh,
# $4 the command or its length, $5 marker of the call, $6 of the session or
# empty, $7 setsid or empty. p_env sets the environment of the command.
p_walk "$1"
case $p_K in
"") [ "$p_B" = . ] || p_die ENOTDIR ;;
*) p_die "$p_K" ;;
esac
[ -x "$2" ] || p_die ENOSHELL
p_c=
case $3 in
bulk)
	# A command that was cut off does not run.
	p_c=$(p_take "$4" && printf x)
	[ "${#p_c}" -eq "$(($4 + 1))" ] || p_die ESHORT
	p_c=${p_c%x}
	;;
esac
printf "\n%s begin\n" "$p_N" >&2
# The inner shell has the pid of the command, and the marker in its environment
# from its first moment.
p_run() (
	unset OLDPWD BASH_ENV ENV
	# bash takes itself for a remote login if this is the first shell of a
	# session, and then reads a start-up file for each command (hazard BASH-04).
	SHLVL=1
	export SHLVL
	case $p_L in
	x*) LC_ALL=${p_L#x} ;;
	*) unset LC_ALL ;;
	esac
	eval "$p_env"
	PIREMOTE_CALL=$5
	export PIREMOTE_CALL
	unset PIREMOTE_SESSION
	case $6 in
	?*)
		PIREMOTE_SESSION=$6
		export PIREMOTE_SESSION
		;;
	esac
	p_x=$7
	p_I="echo; echo \"\$1 run \$\$\"; shift; exec \"\$@\""
	case $3 in
	bulk)
		set -- "$2" -c "p_c=\$(cat <&3 && printf x); exec 3<&-; eval \"unset p_c; \${p_c%x}\""
		;;
	pwsh)
		exec 3<&-
		set -- "$2" -NoLogo -NoProfile -NonInteractive -EncodedCommand "$4"
		;;
	*)
		exec 3<&-
		set -- "$2" -c "$4"
		;;
	esac
	exec $p_x "$p_sh" -c "$p_I" sh "$p_N" "$@"
) 3<&0 </dev/null 2>&1
case $3 in
bulk) printf "%s" "$p_c" | p_run "$@" ;;
*) p_run "$@" ;;
esac
p_s=$?
p_y=
if [ "$p_s" -gt 128 ]; then
	p_y=$(kill -l "$p_s" 2>/dev/null)
	# dash and ash have said by now if it was a signal; bash says nothing.
	case ${BASH_VERSION+x} in x) printf "%s" "$p_y" >&2 ;; esac
fi
p_mark exit "$p_s" "$p_y"
# The status is out; now look for what it left behind.
exec >/dev/null </dev/null
p_marked "PIREMOTE_CALL=$5"
case $p_M in
"")
	# Whoever was in the middle of an exec showed nothing: wait for that, and
	# look again.
	p_v=0
	while [ "$p_v" -lt 10 ] && p_young; do
		sleep "$p_nap"
		p_v=$((p_v + 1))
	done
	p_marked "PIREMOTE_CALL=$5"
	;;
esac
set -- $p_M
printf "\n%s end %s\n" "$p_N" "$#" >&2
