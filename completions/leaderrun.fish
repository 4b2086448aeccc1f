# Completion of leaderrun for fish. It asks the leaderrun on the command line for the
# candidates. If that one is too old or too new for the question, nothing is completed.
#
# In ~/.config/fish/config.fish: leaderrun completion fish | source
# Or: ~/.config/fish/completions/leaderrun.fish

function __leaderrun_complete
    set -l words
    if commandline -x >/dev/null 2>&1 # since fish 4; -o will be removed
        set words (commandline -xpc)
    else
        set words (commandline -opc)
    end
    set -l raw (commandline -ct)
    set -l cursor (string unescape -- "$raw")
    or set cursor (string trim --left --chars='"\'' -- "$raw") # a quote is open

    set -l program (string replace --regex '^~/' -- "$HOME/" $words[1])
    command -q -- $program
    or set program leaderrun # an abbreviation or alias
    set -l lines (command $program completion --cursor="$cursor" -- $words[2..-1] 2>/dev/null </dev/null)
    or return

    set -l head (string split --max 1 ' ' -- $lines[1])
    set -l what "$head[2]"
    set -e lines[1]
    switch "$head[1]"
        case words
            test (count $lines) -eq 0
            or printf '%s\n' "$what"$lines
        case files
            set -l part (string sub --start (math (string length -- "$what") + 1) -- "$raw")
            for file in (complete -C "'' $part") # without a command, fish completes files
                printf '%s\n' "$what$file"
            end
        case command
            string match -qr '^[0-9]+$' -- "$what"
            or return
            test (count $lines) -eq 0
            or printf '%s\n' $lines
            set -l line (string escape -- $words[(math $what + 2)..-1]) "$raw"
            complete -C "$line"
    end
end

complete -c leaderrun -f -a '(__leaderrun_complete)'
