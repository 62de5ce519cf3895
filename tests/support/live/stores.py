"""A store on loopback that speaks S3's protocol, with files of this repository in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
from moto.server import ThreadedMotoServer

KEY, SECRET = "key-of-the-tests", "secret-of-the-tests"


class Bucket:
    """A bucket of the store."""

    def __init__(self, endpoint: str, name: str) -> None:
        self.endpoint = endpoint
        self.name = name
        self._client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )
        self._client.create_bucket(Bucket=name)

    @property
    def options(self) -> dict[str, str]:
        """Options of a source that reads from it."""
        return {f"storage.{name}": value for name, value in self.storage.items()}

    @property
    def storage(self) -> dict[str, str]:
        """The same with fsspec's names."""
        return {"endpoint_url": self.endpoint, "key": KEY, "secret": SECRET}

    def put(self, name: str, data: bytes) -> str:
        """Store an object, and return its URL."""
        self._client.put_object(Bucket=self.name, Key=name, Body=data)
        return f"s3://{self.name}/{name}"

    def remove(self, name: str) -> None:
        """Remove an object."""
        self._client.delete_object(Bucket=self.name, Key=name)

    def put_folder(self, name: str, folder: Path) -> str:
        """Store all files of a folder, and return its URL."""
        for file in folder.rglob("*"):
            if file.is_file():
                self.put(f"{name}/{file.relative_to(folder)}", file.read_bytes())
        return f"s3://{self.name}/{name}"


@contextmanager
def store() -> Iterator[Bucket]:
    """Run a store in a thread of this process; yield a bucket of it."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield Bucket(f"http://{host}:{port}", "logs")
    finally:
        server.stop()
