"""The command line: `remember-graph`.

Exit codes: 0 done (possibly degraded), 1 our fault, 2 an input or option is wrong, 130 interrupted.
What goes wrong is one line on stderr; a traceback only with REMEMBER_GRAPH_TRACEBACK=1.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence

from remember_graph.cli.app import app
from remember_graph.cli.console import prepare_streams, print_error
from remember_graph.errors import RememberGraphError

_OK, _OUR_FAULT, _WRONG_INPUT, _INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    prepare_streams()
    try:
        code = app(args=arguments, standalone_mode=False, prog_name="remember-graph")
        sys.stdout.flush()
        return code if isinstance(code, int) else _OK
    except RememberGraphError as error:
        return _fail(str(error), _WRONG_INPUT)
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)
    except SystemExit as exit_:
        # Typer ends with 1 where the reader of a pipe has gone (`| head`): no error of anybody's.
        if not _is_closed_pipe(exit_.__context__):
            raise
        return _discard_output()
    except Exception as error:
        if _is_closed_pipe(error):
            return _discard_output()
        return _unexpected(error)


def _is_closed_pipe(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _discard_output() -> int:
    # Python would flush into the closed pipe once more when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _OK


def _unexpected(error: Exception) -> int:
    # Typer carries its own copy of click, so its classes are told by what they can do.
    if type(error).__name__ == "Abort":
        return _fail("interrupted", _INTERRUPTED)
    if hasattr(error, "format_message"):
        return _fail(" ".join(error.format_message().split()), _WRONG_INPUT)
    line = " ".join(str(error).split())
    return _fail(f"internal error ({type(error).__name__}): {line}", _OUR_FAULT)


def _fail(message: str, code: int) -> int:
    print_error(message)
    if os.environ.get("REMEMBER_GRAPH_TRACEBACK") == "1":
        traceback.print_exc()
    return code


def script() -> None:
    """The console script."""
    sys.exit(main())
