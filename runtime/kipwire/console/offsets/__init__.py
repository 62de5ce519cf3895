"""kipwire offsets: how far behind the groups of a cluster are, once or for Prometheus."""

# Theory. A round is one look at a cluster, and a `Look` is all that it has found, as plain data:
#
#     cluster     connections to its brokers; one that fails is not asked again in the same round
#     groups      the groups of each broker, with members and committed offsets, from their coordinators
#     ends        the first and the last offsets of partitions, from their leaders
#     unread      the times of the first records that groups have not read, by Fetches at their committed offsets
#     remembered  what an exporter keeps of them from round to round
#     looking     these in their order: offsets before ends, so that no group seems ahead of what it has read
#
# What follows from looks needs no broker: `lag` makes rows and totals of one, and says of several who stands still.
# `report` shows that to people and as JSON, `metrics` to Prometheus. `exporter` repeats rounds, one at a time, and
# answers scrapes from the last one, so that neither a slow broker nor many scrapers cost more than a round.
