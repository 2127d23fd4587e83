"""Data files are read once, whoever asks first."""

from __future__ import annotations

import subprocess
import sys

import pytest

ROUNDS = """
import importlib, sys, threading
from sidecar.evidence.claims import utterances
from sidecar.platform.data import load_data
sys.setswitchinterval(1e-6)
for _ in range(40):
    kind = importlib.reload(utterances).ClaimWording
    threads = [threading.Thread(target=load_data, args=("claims", kind)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
print("read")
"""


@pytest.mark.process
def test_threads_that_read_the_same_data_at_once_do_not_crash_python() -> None:
    done = subprocess.run([sys.executable, "-c", ROUNDS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "read\n", "")
