"""Adds the compiled kernel to the wheel, which is then one for this Python and this platform.

Without a C compiler, or with KIPWIRE_NATIVE=0 in the environment, the wheel goes without and fits everywhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):  # type: ignore[type-arg]  # any configuration does
    """Called by hatchling before it builds a wheel; the name is fixed by nothing but being the only hook here."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the kernel in place and have it packed.

        Args:
            version: `standard`, or `editable` for an installation that points here, where `make native` builds.
            build_data: what hatchling packs, to add to.
        """
        if version == "editable":
            return
        if os.environ.get("KIPWIRE_NATIVE") == "0":
            self.app.display_info("KIPWIRE_NATIVE=0: a wheel without the compiled kernel")
            return
        command = [sys.executable, str(Path(self.root) / "scripts" / "build_native.py")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["it failed"])[-1]
            self.app.display_warning(f"a wheel without the compiled kernel: {reason}")
            return
        built = Path(done.stdout.splitlines()[-1])
        build_data["force_include"][str(built)] = f"kipwire/{built.name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
