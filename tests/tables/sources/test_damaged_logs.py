"""Every byte of a log is accounted for, whatever is damaged: by all readers, at all levels, modes and splits.

`make fuzz-native` checks the same on many more logs.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.support.cases import some
from tests.support.damaged_logs import check, damage, written_log


@pytest.mark.parametrize("seed", some(range(12)))
def test_every_byte_of_a_damaged_log_is_a_row_an_error_or_the_tail_of_its_last_segment(
    tmp_path: Path, seed: int
) -> None:
    for number in range(60):
        chance = Random(f"{seed}/{number}")
        log = written_log(chance, tmp_path / str(number))
        damage(chance, log)
        for _ in range(3):
            check(chance, log)
