"""What attnc raises."""


class Error(Exception):
    """What went wrong (`message`) and what to do about it (`remedy`, may be empty)."""

    def __init__(self, message, remedy=""):
        super().__init__(message + ("\n  " + remedy if remedy else ""))
        self.message, self.remedy = message, remedy


class InvalidArgument(Error, ValueError):
    """Tensors, sizes, params, options or files do not fit."""


class SpecError(Error, ValueError):
    """The spec has errors; the message has their places."""


class Unavailable(Error, RuntimeError):
    """The machine lacks something: a GPU, its driver, NVRTC, memory, a permission."""


class CompilationError(Error, RuntimeError):
    """NVRTC or ptxas refused generated code."""


class InternalError(Error, RuntimeError):
    """A defect of attnc itself: please report it with the spec."""


# By the kinds of the C interface.
BY_KIND = {1: InvalidArgument, 2: SpecError, 3: Unavailable, 4: CompilationError, 5: InternalError}
