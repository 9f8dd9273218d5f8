"""Completion scripts of three shells from the places of the command line. Sources: bash(1), zshcompsys(1), fish-doc.

All three walk over the words before the cursor the same way: a word behind an option that takes a value is skipped, the
name of a subcommand or an action leads one place further.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.cli.completion_words import Option, Place

CLUSTERS = 'pilothouse ${config:+--config "$config"} completion clusters 2>/dev/null'


def script(shell: str, places: Sequence[Place]) -> str:
    """The script for ``bash``, ``zsh`` or ``fish``."""
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell](places)


def quoted(text: str) -> str:
    """One word of any of the three shells."""
    return "'" + text.replace("'", "'\\''") + "'"


def _at(path: Iterable[str]) -> str:
    return "/".join(path)


def _valued(places: Sequence[Place]) -> list[str]:
    """Flags behind which a value stands."""
    found = (flag for place in places for o in place.options if o.takes != "nothing" for flag in o.flags)
    return list(dict.fromkeys(found))


def _walk(places: Sequence[Place]) -> str:
    """The part that finds out where one is: sets `at`, and `config` where the line names one."""
    steps = [_at((*place.path, word)) for place in places for word, _ in place.words]
    return f"""\
        if [[ -n $skip ]]; then
            [[ $skip == --config ]] && config=$word
            skip=
        elif [[ {_any("$word", _valued(places))} ]]; then
            skip=$word
        else
            case "${{at:+$at/}}$word" in
                {"|".join(steps)}) at="${{at:+$at/}}$word" ;;
            esac
        fi"""


def _any(variable: str, words: Iterable[str]) -> str:
    return f"' {' '.join(words)} ' == *\" {variable} \"*"


def _values(places: Sequence[Place]) -> dict[str, Option]:
    """``place:flag`` -> what stands behind the flag there."""
    return {f"{_at(p.path)}:{flag}": o for p in places for o in p.options if o.takes != "nothing" for flag in o.flags}


def bash(places: Sequence[Place]) -> str:
    values = "\n".join(
        f"        {quoted(key)}) {_bash_value(option)}; return ;;" for key, option in _values(places).items()
    )
    words = "\n".join(
        f"        {quoted(_at(p.path))}) words={quoted(_bash_words(p))}{_bash_files(p)} ;;" for p in places
    )
    return f"""\
# bash completion of pilothouse; made by: pilothouse completion bash
_pilothouse() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} at= skip= config= word words= files= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
{_walk(places)}
    done
    [[ -n $skip ]] && case "$at:$prev" in
{values}
    esac
    case "$at" in
{words}
    esac
    [[ $cur != -* ]] && words=$(for word in $words; do [[ $word != -* ]] && echo "$word"; done)
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    [[ -n $files && $cur != -* ]] && COMPREPLY+=($(compgen -f -- "$cur"))
}}
complete -o filenames -F _pilothouse pilothouse
"""


def _bash_value(option: Option) -> str:
    match option.takes:
        case "choice":
            return f'COMPREPLY=($(compgen -W {quoted(" ".join(option.choices))} -- "$cur"))'
        case "file":
            return 'COMPREPLY=($(compgen -f -- "$cur"))'
        case "cluster":
            return f'COMPREPLY=($(compgen -W "$({CLUSTERS})" -- "$cur"))'
    return ":"


def _bash_words(place: Place) -> str:
    choices = [choice for argument in place.arguments for choice in argument.choices]
    return " ".join([*(word for word, _ in place.words), *choices, *(flag for flag, _ in place.flags)])


def _bash_files(place: Place) -> str:
    return " files=1" if any(argument.takes == "file" for argument in place.arguments) else ""


def zsh(places: Sequence[Place]) -> str:
    values = "\n".join(
        f"        {quoted(key)}) {_zsh_value(option)}; return ;;" for key, option in _values(places).items()
    )
    words = "\n".join(f"        {quoted(_at(p.path))}) found=({_zsh_words(p)}){_bash_files(p)} ;;" for p in places)
    return f"""\
#compdef pilothouse
# zsh completion of pilothouse; made by: pilothouse completion zsh
_pilothouse() {{
    local cur=${{words[CURRENT]}} prev=${{words[CURRENT-1]}} at= skip= config= word files= i
    local -a found
    for ((i = 2; i < CURRENT; i++)); do
        word=${{words[i]}}
{_walk(places)}
    done
    [[ -n $skip ]] && case "$at:$prev" in
{values}
    esac
    case "$at" in
{words}
    esac
    [[ $cur == -* ]] || found=(${{found:#-*}})
    _describe -t words pilothouse found
    [[ -n $files && $cur != -* ]] && _files
}}
compdef _pilothouse pilothouse
"""


def _zsh_value(option: Option) -> str:
    match option.takes:
        case "choice":
            return f"compadd -- {' '.join(quoted(choice) for choice in option.choices)}"
        case "file":
            return "_files"
        case "cluster":
            return f'compadd -- ${{(f)"$({CLUSTERS})"}}'
    return ":"


def _zsh_words(place: Place) -> str:
    """``word:help`` each; a colon of the word itself is escaped."""
    choices = [(choice, "") for argument in place.arguments for choice in argument.choices]
    pairs = [*place.words, *choices, *place.flags]
    return " ".join(quoted(word.replace(":", "\\:") + (f":{help}" if help else "")) for word, help in pairs)


def fish(places: Sequence[Place]) -> str:
    lines = [
        "# fish completion of pilothouse; made by: pilothouse completion fish",
        _FISH_PLACE.format(valued=" ".join(_valued(places)), steps=" ".join(_steps(places))),
        "complete -c pilothouse -f",
    ]
    for place in places:
        here = f"-n {quoted('__pilothouse_at ' + quoted(_at(place.path)))}"
        lines += [f"complete -c pilothouse {here} -a {quoted(word)} -d {quoted(help)}" for word, help in place.words]
        for option in place.options:
            lines.append(_fish_option(here, option))
    return "\n".join(line for line in lines if line) + "\n"


def _steps(places: Sequence[Place]) -> list[str]:
    return [_at((*place.path, word)) for place in places for word, _ in place.words]


_FISH_PLACE = """\
function __pilothouse_at
    set -l at
    set -l skip
    for word in (commandline -opc)[2..]
        if test -n "$skip"
            set skip
        else if contains -- $word {valued}
            set skip 1
        else
            set -l step (string join / -- $at $word)
            if contains -- $step {steps}
                set at $step
            end
        end
    end
    test "$at" = "$argv[1]"
end
function __pilothouse_clusters
    set -l words (commandline -opc)
    set -l config
    if set -l n (contains -i -- --config $words)
        set config --config $words[(math $n + 1)]
    end
    pilothouse $config completion clusters 2>/dev/null
end"""


def _fish_option(here: str, option: Option) -> str:
    flags = " ".join(
        f"-l {flag[2:]}" if flag.startswith("--") else f"-{'s' if len(flag) == 2 else 'o'} {flag[1:]}"
        for flag in option.flags
    )
    match option.takes:
        case "nothing":
            value = ""
        case "choice":
            value = f" -x -a {quoted(' '.join(option.choices))}"
        case "file":
            value = " -r -F"
        case "cluster":
            value = " -x -a '(__pilothouse_clusters)'"
        case _:
            value = " -x"
    if not flags:
        wanted = option.takes in ("choice", "file")
        value = value.replace(" -x", "").replace(" -r", "")
        return f"complete -c pilothouse {here}{value} -d {quoted(option.help)}" if wanted else ""
    return f"complete -c pilothouse {here} {flags}{value} -d {quoted(option.help)}"
