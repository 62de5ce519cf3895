"""Prints who is behind in a topic, who leads it, and its last records: `python cluster_report.py BROKERS TOPIC`."""

import asyncio
import sys

from kipwire import KipwireError
from kipwire.cluster import Cluster, lag
from kipwire.records import Record


async def report(brokers: str, topic: str) -> None:
    async with Cluster(brokers) as cluster:
        for row in lag.rows_of(await lag.look(cluster, topics=[topic])):
            print(f"{row.group} is {row.lag} records and {row.seconds} seconds behind in {row.partition}")
        leaders = await cluster.leaders(topic)
        starts, ends = await cluster.ranges(leaders)
        for partition, end in sorted(ends.items()):
            print(f"{leaders[partition]} leads {partition}, from offset {starts.get(partition)} to {end}")
        last: list[Record] = []
        async for batches in cluster.read({partition: max(end - 10, 0) for partition, end in ends.items()}):
            last += batches.records()
        for record in sorted(last, key=lambda one: one.timestamp)[-10:]:
            print(record.timestamp, record.key, record.value)
        for problem in (*leaders.problems, *ends.problems):
            print(problem, file=sys.stderr)


if __name__ == "__main__":
    try:
        asyncio.run(report(sys.argv[1], sys.argv[2]))
    except KipwireError as error:
        sys.exit(str(error))
