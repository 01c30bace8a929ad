"""Folders for temporary files that no other user of the machine can read, write or exchange for their own."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path


def private_folder(name: str) -> Path:
    """Returns this user's folder of a name in the folder of temporary files; creates it where it is missing.

    Args:
        name: name of the folder; the user's number is added to it.

    Raises:
        OSError: the folder cannot be created, or is not this user's own.
    """
    return made_private(Path(tempfile.gettempdir()) / f"{name}-{os.getuid()}")


def made_private(folder: Path) -> Path:
    """Creates a folder that only this user can open (mode 0700), or checks that an existing one is.

    Of a path in the folder of temporary files, which everyone may write, each folder on the way is checked too.

    Args:
        folder: the folder.

    Returns:
        The folder.

    Raises:
        OSError: the folder cannot be created, is a link, or belongs to another user.
    """
    shared = Path(tempfile.gettempdir())
    above = [parent for parent in reversed(folder.parents) if shared in parent.parents]
    if not above:
        folder.parent.mkdir(parents=True, exist_ok=True)
    for each in (*above, folder):
        with contextlib.suppress(FileExistsError):
            each.mkdir(mode=0o700)
        found = each.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "a file or a link stands where a private folder belongs", str(each))
        if found.st_uid != os.getuid() and (each == folder or found.st_uid):  # the administrator may own those above
            raise PermissionError(errno.EPERM, f"the folder belongs to user {found.st_uid}", str(each))
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        folder.chmod(0o700)
    return folder
