"""Arrow's compute functions, which are made at run time, so that type checkers do not know them."""

from __future__ import annotations

from typing import Any

import pyarrow.compute

pc: Any = pyarrow.compute
