"""The brokers of a Kafka cluster: how they are reached, which one to ask, and how far behind its groups are."""

# Theory. A round is one look at a cluster, and a `Look` is all that it has found, as plain data:
#
#     settings    how brokers are reached: TLS by `tls`, SASL by `logins`, both from options or by a `properties` file
#     finding     which broker a request is for
#     cluster     connections to the brokers; one that fails is not asked again in the same round
#     fetching    records of partitions, from their leaders
#     groups      the groups of each broker, with members and committed offsets, from their coordinators
#     ends        the first and the last offsets of partitions, from their leaders
#     unread      the times of the first records that groups have not read, by Fetches at their committed offsets
#     remembered  what an exporter keeps of them from round to round
#     looking     these in their order: offsets before ends, so that no group seems ahead of what it has read
#
# What follows from looks needs no broker: `lag` makes rows and totals of one, and says of several who stands still;
# `metrics` has them for Prometheus.
