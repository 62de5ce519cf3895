"""The job `encodings`: its report and its options."""

from __future__ import annotations

from kipjobs.engines import Session, functions_of
from kipjobs.files.roots import Roots, roots_text
from kipjobs.jobs import encodings
from kipjobs.jobs.shared.reading import frames
from kipjobs.jobs.shared.running import on_captures
from kipjobs.report import charts
from kipjobs.report.report import Chart, Report, Table


def encodings_report(session: Session, roots: Roots, ports: str = "") -> Report:
    """Report the savings of KIP-625's encodings on the traffic of captures; `ports` as for `traffic_report`."""
    sf = functions_of(session)
    counted = encodings.counts(frames(session, roots, ports)).persist()
    advice = encodings.advice(counted).persist()
    by_message = advice.groupBy("message").agg(sf.sum("saved").alias("saved"))
    saved = by_message.orderBy(sf.desc("saved"), "message").limit(16)
    return Report(
        "Integer encodings",
        (
            Table(
                "not_decoded",
                "Messages that could not be decoded, and so do not count",
                encodings.not_decoded(counted),
                (sf.desc("not_decoded"), "message"),
                is_wrong=True,
            ),
            Table(
                "advice",
                "Fields that would save most",
                advice,
                (sf.desc("saved"), "message", "path"),
                hidden=("is_element", "negative", "note"),
            ),
            Table("counts", "Messages", counted, (sf.desc("messages"), "message"), hidden=("counts",)),
        ),
        (Chart("Bytes saved by message", saved.select(sf.col("message").alias("name"), "saved"), charts.savings),),
        (
            "saved: bytes saved compared with the fixed encoding of the type. For changes to specs: kipgen advise.",
            "A tagged field keeps its form for ever (KIP-482), as do the fields in its data: nothing is saved there.",
        ),
        where=roots_text(roots),
        totals=encodings.totals(counted, advice),
    )


command = on_captures(encodings_report)
"""Run `kipspark encodings`."""
