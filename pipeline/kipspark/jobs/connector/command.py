"""`kipspark connector`."""

from __future__ import annotations

import click
import pyspark

from kipspark.spark.connector import TESTED_VERSION, check_repository, fetch, name_of
from kipwire.cli.terminal import OUT


@click.option("--repository", metavar="URL", help="URL of a Maven repository; by default Maven Central.")
@click.option(
    "--allow-http", is_flag=True, help="Accept jars over http://, which anyone on the network path can change."
)
def command(repository: str | None, allow_http: bool) -> None:
    """Run `kipspark connector`."""
    version = pyspark.__version__
    check_repository(repository, allow_http)
    OUT.print(f"Fetching Spark's Kafka connector for pyspark {version} from {name_of(repository)} (about 10 MB)")
    folder = fetch(repository, allow_http=allow_http)
    OUT.print(f"{folder}:")
    for jar in sorted(folder.iterdir()):
        OUT.print(f"  {jar.name}")
    OUT.print('To use it in a session: SparkSession.builder.config("spark.jars", kipspark.connector_jars())')
    if version != TESTED_VERSION:
        OUT.print(f"kipspark is tested with the connector of Spark {TESTED_VERSION}, not with this version.")
