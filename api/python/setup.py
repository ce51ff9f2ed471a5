"""What pyproject.toml cannot say: the wheel is for one kind of machine, and for every Python 3."""
import setuptools
from setuptools.command.bdist_wheel import bdist_wheel


class WithLibrary(setuptools.Distribution):
    """Not of Python files alone."""

    def has_ext_modules(self):
        return True


class ForAnyPython(bdist_wheel):
    """The package calls its library through ctypes, so it fits any Python."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setuptools.setup(distclass=WithLibrary, cmdclass={"bdist_wheel": ForAnyPython})
