"""``pilothouse completion bash|zsh|fish``: a script that completes the command line, read off the parsers.

It completes subcommands, options, their choices, files and the names of configured clusters. It never asks a scheduler:
a key that is pressed by habit must not cost a call, so ids of jobs and names of nodes are not completed.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from console.cli.exits import DONE

SHELLS = ("bash", "zsh", "fish")
DESCRIPTION = """A script that completes the command line, for your shell to read:

  bash:  source <(pilothouse completion bash)                     in ~/.bashrc
  zsh:   source <(pilothouse completion zsh)                      in ~/.zshrc, after compinit
  fish:  pilothouse completion fish > ~/.config/fish/completions/pilothouse.fish

It completes subcommands, options, their choices, files and names of configured clusters. It never asks a scheduler."""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=(*SHELLS, "clusters"), metavar="bash|zsh|fish",
                        help="the shell; `clusters` lists the configured ones, for the scripts")  # fmt: skip


def run(args: Namespace) -> int:
    if args.shell == "clusters":
        return _clusters(args)
    from console.cli.completion_scripts import script
    from console.cli.completion_words import places

    print(script(args.shell, places()), end="")
    return DONE


def _clusters(args: Namespace) -> int:
    """The names in the files, a line each. Nothing is detected: that would run the scheduler's commands."""
    from console.config import load

    print(*load(args.config).clusters, sep="\n")
    return DONE
