"""The command line: `remember-graph`.

Exit codes: 0 done (possibly degraded), 1 our fault, 2 an input or option is wrong, 130 interrupted.
What goes wrong is one line on stderr; a traceback only with REMEMBER_GRAPH_TRACEBACK=1.
"""

from __future__ import annotations

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
        return code if isinstance(code, int) else _OK
    except RememberGraphError as error:
        return _fail(str(error), _WRONG_INPUT)
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone (`| head`); Python must not try to flush into the closed pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _OK
    except Exception as error:
        return _unexpected(error)


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
