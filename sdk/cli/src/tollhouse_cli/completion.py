"""Scripts that complete commands and options in a shell."""

import argparse
from collections.abc import Iterator
from typing import Any, cast

from tollhouse_cli.main import parser

BASH = """\
_tollhouse_cli() {{
    local word path=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) ;; *) path="$path $word" ;; esac
    done
    case "${{path# }}" in
{cases}
        *) COMPREPLY=() ;;
    esac
}}
complete -o default -F _tollhouse_cli tollhouse-cli
"""


def completion(options: argparse.Namespace) -> None:
    """Print the script."""
    words = dict(_words(parser(), ""))
    if options.shell == "fish":
        for path, choices in words.items():
            seen = f"__fish_seen_subcommand_from {path.split()[-1]}" if path else "__fish_use_subcommand"
            print(f"complete -c tollhouse-cli -f -n '{seen}' -a '{' '.join(choices)}'")
        return
    cases = "\n".join(
        f'        "{path}") COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$2")) ;;' for path, choices in words.items()
    )
    print(
        "autoload -U +X bashcompinit && bashcompinit" if options.shell == "zsh" else "", end="\n" * (options.shell == "zsh")
    )
    print(BASH.format(cases=cases), end="")


def _words(command: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, list[str]]]:
    """What can come after a command, for it and all below it."""
    actions: list[Any] = command._actions  # noqa: SLF001 # pyright: ignore[reportPrivateUsage, reportAssignmentType]
    words: list[str] = []
    for action in actions:
        words += [option for option in action.option_strings if option.startswith("--")]
        words += list(action.choices or [])
    yield path, words
    for action in actions:
        if isinstance(action.choices, dict):
            below = cast("dict[str, argparse.ArgumentParser]", action.choices)
            for name, one in below.items():
                yield from _words(one, f"{path} {name}".strip())
