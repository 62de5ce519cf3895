"""Fetch the jars of Spark's Kafka connector, which pip does not install.

Ivy, which comes with Spark, resolves the connector's dependencies and fetches those that Spark does not have, so only
Java is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import quoteattr

import pyspark

from kipjobs.errors import JobError
from kipspark.spark.client_config import without_login
from kipspark.spark.java import cache, use_java

CONNECTOR = "spark-sql-kafka-0-10_2.13"
TESTED_VERSION = "4.0.0"
"""The version of Spark, and so of the connector, that kipspark's tests run with."""

_SECONDS = 600
_SCHEMES = ("https", "file", "http")
_MISSING = re.compile(r":: ([\w.-]+)#([\w.-]+);([\w.-]+): not found")
_UNREACHABLE = re.compile(
    r"Host \S+ not found|Server access error|Connection (?:refused|timed out)|UnknownHostException"
)


def folder() -> Path:
    """Return the folder for the jars of the connector, for the installed pyspark."""
    return cache() / "spark-kafka" / pyspark.__version__


def connector_jars() -> str:
    """Return the paths of the jars in the form of `spark.jars`: separated by commas.

    Raises:
        JobError: they have not been fetched.
    """
    found = sorted(folder().glob("*.jar"))
    if not found:
        raise JobError(
            f"Spark's Kafka connector for pyspark {pyspark.__version__} has not been fetched yet; "
            "run: kipspark connector"
        )
    return ",".join(map(str, found))


def check_repository(repository: str | None, allow_http: bool = False) -> None:
    """Check that jars may be fetched from a repository: they run with all of Spark's rights.

    Raises:
        JobError: the URL is not https: or file:, nor http: with `allow_http`.
    """
    if repository is None:
        return
    scheme = repository.partition(":")[0].lower()
    if scheme == "http" and not allow_http:
        raise JobError(
            f"{name_of(repository)}: jars that come over http:// can be changed on the way, and Spark runs them; "
            "use https://, or accept the risk with --allow-http"
        )
    if scheme not in _SCHEMES or not repository.partition(":")[2].strip("/"):
        raise JobError(f"{name_of(repository)}: is not the URL of a Maven repository, such as https://HOST/PATH")


def fetch(repository: str | None = None, *, allow_http: bool = False) -> Path:
    """Fetch the jars for the installed pyspark.

    Args:
        repository: URL of a Maven repository; by default Maven Central.
        allow_http: true if the URL may be http:, over which anyone on the network path can change the jars.

    Returns:
        Their folder.

    Raises:
        JobError: there is no Java; or the repository is not allowed, cannot be reached, or lacks a jar.
    """
    check_repository(repository, allow_http)
    spark_jars = Path(pyspark.__file__).parent / "jars"
    ivy = next(spark_jars.glob("ivy-*.jar"), None)
    if ivy is None:
        raise JobError(
            f"{spark_jars}: has no Ivy, which fetches the connector; install a complete Spark: pip install pyspark"
        )
    use_java()
    jars = folder()
    jars.parent.mkdir(parents=True, exist_ok=True)
    # Next to the target folder, so that one rename publishes all jars.
    with TemporaryDirectory(dir=jars.parent) as work:
        (Path(work) / "settings.xml").write_text(_settings(repository), encoding="utf-8")
        (Path(work) / "ivy.xml").write_text(_ivy_text(spark_jars.glob("*.jar")), encoding="utf-8")
        _run_ivy(ivy, Path(work), repository)
        shutil.rmtree(jars, ignore_errors=True)
        (Path(work) / "jars").rename(jars)
    return jars


def _run_ivy(ivy: Path, work: Path, repository: str | None) -> None:
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    options = ["-settings", "settings.xml", "-ivy", "ivy.xml", "-cache", "cache", "-types", "jar", "bundle"]
    command = [str(java), "-cp", str(ivy), "org.apache.ivy.Main", *options]
    command += ["-retrieve", "jars/[artifact]-[revision].[ext]"]
    try:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise JobError(f"{name_of(repository)}: the connector was not fetched within {_SECONDS} seconds") from None
    text = without_login(done.stdout + done.stderr)
    if done.returncode or not (work / "jars").is_dir():
        raise JobError(reason(text, name_of(repository)))


def name_of(repository: str | None) -> str:
    """Return the name of a repository for messages, without the password that its URL may have."""
    return "Maven Central" if repository is None else without_login(repository) or "''"


def reason(text: str, repository: str) -> str:
    """Explain from Ivy's output why it could not fetch the jars, and give a remedy."""
    if unreachable := _UNREACHABLE.search(text):
        return (
            f"{repository}: cannot be reached ({unreachable[0]}). For a proxy set "
            "JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT'; for another repository run: "
            "kipspark connector --repository URL"
        )
    missing = sorted({f"{group}:{name}:{version}" for group, name, version in _MISSING.findall(text)})
    if missing:
        return (
            f"{repository}: does not have {', '.join(missing)}. The connector must have Spark's own version, which "
            f"is {pyspark.__version__}. Name a repository that has all of it (kipspark connector --repository URL), or "
            f"install the version of Spark that kipspark is tested with: pip install pyspark=={TESTED_VERSION}"
        )
    return "\n".join([f"{repository}: the connector could not be fetched. Ivy says:", *text.strip().splitlines()[-5:]])


def _settings(repository: str | None) -> str:
    """Return Ivy's settings: only the given repository; without one, Ivy's default, Maven Central."""
    root = "" if repository is None else f" root={quoteattr(repository.rstrip('/') + '/')}"
    return (
        '<ivysettings><settings defaultResolver="maven"/><resolvers>'
        f'<ibiblio name="maven" m2compatible="true"{root}/>'
        "</resolvers></ivysettings>"
    )


def _ivy_text(had: Iterable[Path]) -> str:
    """Return the file with which Ivy fetches the connector and its dependencies, without the modules that Spark has."""
    modules = sorted({re.sub(r"-\d[^-]*$", "", jar.stem) for jar in had})
    return (
        '<ivy-module version="2.0"><info organisation="kipwire" module="connector"/><dependencies>'
        f'<dependency org="org.apache.spark" name="{CONNECTOR}" rev={quoteattr(pyspark.__version__)} conf="default"/>'
        + "".join(f"<exclude module={quoteattr(module)}/>" for module in modules)
        + "</dependencies></ivy-module>"
    )
