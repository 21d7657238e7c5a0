"""Python source read as a tree."""

import ast
import gc
from pathlib import Path


def tree_of(path: Path, feature_version: tuple[int, int] | None = None) -> ast.Module:
    """The tree of a file, made without the garbage collector.

    In CPython 3.11 that may close somebody's generator while the tree is built, which then fails with a `SystemError`.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(), str(path), feature_version=feature_version)
    finally:
        if was_on:
            gc.enable()
