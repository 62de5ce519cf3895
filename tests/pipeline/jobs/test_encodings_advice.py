"""The job `encodings` proposes what `kipgen advise` proposes: nothing for a tagged field, whose form is for ever."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa

from kipgen.commands.advise.savings import Advice
from kipjobs.jobs.encodings.tables import COUNTS_SCHEMA, advise
from kipwire.message.encodings import Counts
from tests.support.subjects.small_values import FILES, small_values


def job_rows(counts: Counts, advice: Advice) -> list[dict[str, Any]]:
    row = {"message": advice.spec.name, "messages": 1, "not_decoded": 0, "counts": json.dumps(counts.to_plain())}
    (batch,) = advise([pa.RecordBatch.from_pylist([row], COUNTS_SCHEMA)])
    found: list[dict[str, Any]] = batch.to_pylist()
    return found


def test_fields_of_every_message_keep_their_encodings_where_advise_lets_them() -> None:
    kept, changed = {}, 0
    for file in FILES:
        if (found := small_values(file)) is None:
            continue
        counts, advice, _ = found
        newest = advice.spec.valid_versions.highest
        advised = {path: field for field in advice.fields for path in field.paths}
        for row in job_rows(counts, advice):
            field, where = advised[row["path"]], f"{row['message']}.{row['path']}"
            if row["note"].startswith("not in") and not field.note:  # another path of a common struct is
                assert row["saved"] == 0 and len(field.paths) > 1, where
                continue
            if field.note.startswith("not in") and not row["note"]:  # it ends with the newest version, as specs say
                continue
            # advise also chooses between equal savings by the default, and adds up the paths of a common struct.
            assert field.sizes[row["best"]] == field.sizes[str(field.best)], where
            assert row["saved"] * len(field.paths) == field.saved, where
            # The newest version must have the same note as the next one, but for its name.
            assert row["note"] == re.sub(r"version \d+, the next one", f"version {newest}, the newest one", field.note)
            changed += row["saved"] > 0
            if row["note"]:
                kept[where] = row["note"]
    assert changed > 500
    assert kept["FetchRequest.ReplicaState.ReplicaEpoch"] == (
        "part of the tagged field ReplicaState, which keeps its form (KIP-482)"
    )
    assert kept["ApiVersionsResponse.FinalizedFeaturesEpoch"] == "a tagged field, which keeps its form (KIP-482)"
