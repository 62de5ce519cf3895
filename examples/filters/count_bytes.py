"""Counts the bytes of requests and responses of each client, by its id; no message is decoded."""

import atexit
from collections import Counter

from kipwire.proxy import Exchange, Request, Response, on

counts: Counter[str | None] = Counter()
atexit.register(lambda: print(*counts.most_common(), sep="\n"))


@on(Request)
def count_request(request: Request, exchange: Exchange) -> None:
    counts[request.client_id] += len(request.raw)


@on(Response)
def count_response(response: Response, exchange: Exchange) -> None:
    counts[exchange.request.client_id] += len(response.raw)
