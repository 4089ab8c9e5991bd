"""The command and its conventions: exit codes, errors on stderr, commands loaded when needed."""

import difflib
import importlib
import sys
from typing import Any

import click

from odf_coordinator.cli.explain import explain, tell
from odf_coordinator.errors import OdfError, StorageError

_INTERRUPTED = 130

# Command -> the module that holds it, and what it does. Modules are imported when they are run.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("datasets", "Make a workspace in a folder."),
    "new": ("declare", "Write a manifest to be filled in."),
    "add": ("declare", "Add datasets from manifest files."),
    "edit": ("declare", "Change a dataset to what its manifest says now."),
    "ls": ("datasets", "List the datasets of the workspace."),
    "show": ("datasets", "Show one dataset: identity, source, schema, where it stands."),
    "log": ("datasets", "Show the metadata chain of a dataset, newest block first."),
    "pull": ("data", "Bring datasets up to date."),
    "sql": ("data", "Query datasets with SQL."),
    "tail": ("data", "Show the last rows of a dataset."),
    "verify": ("data", "Prove datasets: chain, signatures, data, and replay of every step."),
    "rename": ("changes", "Give a dataset another name."),
    "delete": ("changes", "Delete datasets."),
    "reset": ("changes", "Move a dataset back to an earlier block."),
    "fsck": ("upkeep", "Check the store itself: references, links, files, leftovers."),
    "du": ("upkeep", "Tell how many bytes datasets take."),
    "gc": ("upkeep", "Collect what nobody needs any more."),
    "key": ("settings", "Take private keys from one workspace to another."),
    "config": ("settings", "Look at settings and change them."),
    "schema": ("declare", "Print the JSON Schema of manifests or blocks."),
    "engine": ("engines", "Build, list and stop engines."),
    "doctor": ("engines", "Tell what this machine can run, and what is missing."),
    "completion": ("settings", "Print what a shell needs to complete commands and names."),
}


class _Lazy(click.Group):
    """Knows its commands by name; imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"odf_coordinator.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            guess = f" Did you mean '{close[0]}'?" if close else " See `odf --help`."
            raise click.UsageError(f"no command '{args[0]}'.{guess}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, what) for name, (_, what) in COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="odf", message="odf %(version)s")
@click.option("--workspace", metavar="DIR", help="The workspace, if not the nearest one above.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, only results and errors.")
@click.option("-v", "--verbose", is_flag=True, help="Every step, and Python's trace of an error.")
@click.option(
    "--allow-unsandboxed",
    is_flag=True,
    help="Let the engine run as a bare process where neither Docker nor bubblewrap is there.",
)
@click.pass_context
def odf(ctx: click.Context, /, **options: Any) -> None:
    """Verifiable, reproducible data pipelines.

    Start with `odf init`, describe a dataset in a manifest, `odf add` it and `odf pull` it. Then
    look at it with `odf sql` and `odf log`, and prove it with `odf verify`.
    """
    ctx.obj = options


def main() -> None:
    """Run the command and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; gives the exit code. Errors are told on stderr."""
    trace = "-v" in arguments or "--verbose" in arguments
    try:
        return _invoke(arguments)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return tell("interrupted: nothing half-done is visible", code=_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except OdfError as error:
        return explain(error, trace=trace)
    except OSError as error:  # what no layer below could say better
        return explain(StorageError.told_by(error), trace=trace)


def _invoke(arguments: list[str]) -> int:
    result = odf.main(args=arguments, prog_name="odf", standalone_mode=False)
    return result if isinstance(result, int) else 0
