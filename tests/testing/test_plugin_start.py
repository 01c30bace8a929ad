"""What starting pytest with the plugin installed says."""

import subprocess
import sys
from pathlib import Path


def test_an_empty_project_sees_no_warning(tmp_path: Path) -> None:
    """As an error, since the package is loaded by its import hook before pytest could rewrite it."""
    (tmp_path / "test_one.py").write_text("def test_one():\n    assert True\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    code = "import tt_xla, pytest, sys; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
