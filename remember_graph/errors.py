"""Every error this package raises on purpose, as one tree.

RememberGraphError
├── ConfigError (ValueError)         an option or setting is wrong
├── ChatFormatError (ValueError)     a chat file cannot be read as what it should be
├── BenchFormatError (ValueError)    a bench folder is not in the format it should be
├── HistoryError (RuntimeError)      the turn log cannot be opened or written
├── MissingExtraError (ImportError)  an optional package is not installed
├── ModelError (RuntimeError)        a chat or embedding model failed
│   └── ModelAnswerError             its answer cannot be used; `raw_output` holds it
└── UnknownTurnError (KeyError)      a turn id is not in the stream

A message is one line: which input, what was found, what is allowed.
"""


class RememberGraphError(Exception):
    """The base of all errors of this package."""


class ConfigError(RememberGraphError, ValueError):
    """An option or setting has a value that is not allowed."""


class ChatFormatError(RememberGraphError, ValueError):
    """A chat file is missing, empty or not in the format it is read as."""


class BenchFormatError(RememberGraphError, ValueError):
    """A bench folder lacks a file or a file in it is not in the bench format."""


class HistoryError(RememberGraphError, RuntimeError):
    """The turn log cannot be opened, read or written."""


class MissingExtraError(RememberGraphError, ImportError):
    """An optional package is not installed; the message names the pip line."""


class ModelError(RememberGraphError, RuntimeError):
    """A chat or embedding model could not be reached or failed.

    Attributes:
        rejected: The server was reached and refused the request as it was put.
    """

    def __init__(self, message: str, *, rejected: bool = False) -> None:
        super().__init__(message)
        self.rejected = rejected


class ModelAnswerError(ModelError):
    """A model answered with something that cannot be used.

    Attributes:
        raw_output: The answer as it came.
    """

    def __init__(self, message: str, *, raw_output: str) -> None:
        super().__init__(message)
        self.raw_output = raw_output


class UnknownTurnError(RememberGraphError, KeyError):
    """A turn id was asked for that the stream does not hold."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # KeyError would print the repr
