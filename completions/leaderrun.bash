# Completion of leaderrun for bash 3.2 and later, with or without the package
# bash-completion. It asks the leaderrun on the command line for the candidates. If that
# one is too old or too new for the question, nothing is completed.
#
# In ~/.bashrc: eval "$(leaderrun completion bash)"
# Or, with bash-completion: ~/.local/share/bash-completion/completions/leaderrun

_leaderrun() {
	local IFS=$' \t\n' rest=${COMP_LINE:0:COMP_POINT} cursor='' kept='' kind='' what='' word='' out i
	local -a words starts args # starts: the bash word with which each of ours begins
	words=() starts=() COMPREPLY=()

	# bash also splits words at ":", "=" and "@". We join parts without a blank between them.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		if [[ $i -eq 0 || $rest == [[:space:]]* ]]; then
			rest=${rest#"${rest%%[![:space:]]*}"}
			words+=("") starts+=("$i")
		fi
		word=${COMP_WORDS[i]}
		words[${#words[@]} - 1]+=${rest:0:${#word}}
		rest=${rest:${#word}}
	done
	((${#words[@]} > 1)) || return 0
	cursor=${words[${#words[@]} - 1]}
	# readline keeps the text up to the last of these characters, and replaces the rest
	# including, if it is one of them, "@".
	out=${COMP_WORDBREAKS//[[:space:]\"\'\\]/}
	[[ -z $out || $cursor == *[\"\']* ]] || kept=${cursor%"${cursor##*["$out"]}"}
	kept=${kept%@}

	args=(completion --quoted "--cursor=$cursor" --)
	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		args+=("${words[i]}")
	done
	word=${words[0]}
	# shellcheck disable=SC2088 # the user typed the tilde
	[[ $word != "~/"* ]] || word=${HOME-}/${word:2}
	type -P -- "$word" >/dev/null || word=leaderrun # an alias
	out=$(command "$word" "${args[@]}" 2>/dev/null </dev/null) || return 0

	read -r kind what <<<"$out"
	case $kind in
	files)
		! type -t compopt >/dev/null || compopt -o default +o nospace
		return 0
		;;
	command)
		[[ $what && $what != *[!0-9]* ]] || return 0
		! type -t compopt >/dev/null || compopt +o nospace
		i=${starts[what + 1]}
		if declare -F _comp_command_offset >/dev/null; then
			_comp_command_offset "$i"
		elif declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		elif ((what + 2 == ${#words[@]})); then
			while read -r word; do
				[[ -z $word ]] || COMPREPLY+=("$word")
			done <<<"$(compgen -c -- "$cursor")"
			! type -t compopt >/dev/null || compopt -o filenames
		else
			! type -t compopt >/dev/null || compopt -o default
		fi
		what=
		;;
	words) ;;
	*) return 0 ;;
	esac
	{
		read -r word # skip the first line again
		while IFS=$'\t' read -r word rest; do
			word=$what$word
			[[ $word && $word == "$kept"* ]] || continue
			word=${word:${#kept}}
			if [[ $cursor != *[\"\']* ]]; then
				[[ $word != *[!a-zA-Z0-9_./:@=+,#%-]* ]] || printf -v word %q "$word"
				[[ $kind == command || $word == *[/:=] || ${COMP_LINE:COMP_POINT:1} == " " ]] || word+=" "
			fi
			COMPREPLY+=("$word")
		done
	} <<<"$out"
}

# Without compopt, in bash 3.2, file names are completed if there is nothing else.
if type -t compopt >/dev/null; then
	complete -o nospace -F _leaderrun leaderrun
else
	complete -o nospace -o default -F _leaderrun leaderrun
fi
