"""The recipes of docs/call.md, as many as the fake broker serves; `make test-broker` asks a real broker all of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from kafka_messages.enums import ApiKey
from kipwire.cli.apis import find_api
from kipwire.testing import FakeBroker
from tests.support.recipes import GROUP, TOPIC, Recipe, recipes
from tests.support.subjects.recipe_checks import CHECKS, REGISTRY, Things, api_of, check, transaction

JOIN = (
    '{"groupId": "billing", "sessionTimeoutMs": 30000, "rebalanceTimeoutMs": 30000, "protocolType": "consumer", '
    '"protocols": [{"name": "range", "metadata": ""}]}'
)


def is_served(recipe: Recipe, served: set[int]) -> bool:
    apis = [api_of(command) for command in recipe.commands]
    return all(api is None or find_api(REGISTRY, api).key in served for api in apis)


def test_every_recipe_has_a_check() -> None:
    assert len(recipes("x:1")) >= 10
    assert [one.title for one in recipes("x:1")] == list(CHECKS)


def test_recipes_do_what_they_say_with_a_fake_broker(answer: Callable[..., Any]) -> None:
    with FakeBroker() as broker:
        address = broker.bootstrap_servers
        served = {row["apiKey"] for row in answer(address, "--list") if row["broker"]}
        assert ApiKey.FETCH in served
        tried, member = 0, None
        for recipe in recipes(address):
            if not is_served(recipe, served):
                continue
            if recipe.title.startswith("Groups"):
                member = answer(address, "JoinGroup", JOIN, "--version", "3")["memberId"]
            elif recipe.title.startswith("Reset"):
                answer(address, "LeaveGroup", f'{{"groupId": "billing", "memberId": "{member}"}}', "--version", "2")
            with transaction(address, TOPIC) if recipe.title == "Transactions" else nullcontext():
                responses = [answer(*command[1:]) for command in recipe.commands]
            check(recipe, responses, Things(TOPIC, GROUP, members=1))
            tried += 1
        assert tried >= 7
