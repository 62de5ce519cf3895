"""kipwire offsets: how far behind the groups of a cluster are, once or for Prometheus.

`kipwire.cluster` looks. `report` shows what follows to people and as JSON, `kipwire.cluster.metrics` to Prometheus.
`exporter` repeats rounds, one at a time, and answers scrapes from the last one, so that neither a slow broker nor many
scrapers cost more than a round.
"""
