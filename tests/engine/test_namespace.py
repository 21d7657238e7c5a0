"""Against a server that runs already, as an operator's own would."""

import asyncio
import uuid
from datetime import timedelta

import pytest
from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from duetime.engine import EmbeddedEngine, NamespaceUnfit, prepare_namespace
from duetime.engine.namespace import WANTED
from tests.engine.programs import PATIENCE

KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
INT = IndexedValueType.INDEXED_VALUE_TYPE_INT


@pytest.fixture
async def client(engine: EmbeddedEngine) -> Client:
    """A client of a fresh namespace, with a day of retention and no search attributes."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    request = RegisterNamespaceRequest(
        namespace=name, workflow_execution_retention_period=Duration(seconds=86_400)
    )
    fresh = await engine.client(namespace=name)
    await fresh.workflow_service.register_namespace(request)
    async with asyncio.timeout(PATIENCE):  # The server's registry learns of it within seconds.
        while True:
            try:
                await registered(fresh)
                return fresh
            except RPCError:
                await asyncio.sleep(0.05)


async def registered(client: Client) -> dict[str, int]:
    request = ListSearchAttributesRequest(namespace=client.namespace)
    return dict((await client.operator_service.list_search_attributes(request)).custom_attributes)


async def register(client: Client, **attributes: int) -> None:
    request = AddSearchAttributesRequest(namespace=client.namespace)
    for name, kind in attributes.items():
        request.search_attributes[name] = IndexedValueType.ValueType(kind)
    await client.operator_service.add_search_attributes(request)


async def retention(client: Client) -> timedelta:
    described = await client.workflow_service.describe_namespace(
        DescribeNamespaceRequest(namespace=client.namespace)
    )
    return described.config.workflow_execution_retention_ttl.ToTimedelta()


async def test_what_is_missing_is_registered_and_works(client: Client) -> None:
    await register(client, DuetimeKind=KEYWORD, Theirs=KEYWORD)
    await prepare_namespace(client)
    assert await registered(client) == {**WANTED, "Theirs": KEYWORD}
    assert (await client.count_workflows("DuetimeTags = 'a' AND DuetimeDueAt IS NULL")).count == 0
    assert await retention(client) == timedelta(days=1), "not ours to change"
    await prepare_namespace(client)  # Again does nothing.


async def test_several_at_once_are_no_trouble(client: Client) -> None:
    await asyncio.gather(*(prepare_namespace(client) for _ in range(5)))
    assert await registered(client) == WANTED


async def test_another_type_is_told(client: Client) -> None:
    await register(client, DuetimeKind=INT)
    with pytest.raises(
        NamespaceUnfit, match=r"DuetimeKind .* type Int, jobs need Keyword.*DUETIME_TEMPORAL_NAMESPACE"
    ):
        await prepare_namespace(client)
    assert await registered(client) == {"DuetimeKind": INT}


async def test_a_used_up_budget_is_told(client: Client) -> None:
    await register(client, **{f"Theirs{number}": KEYWORD for number in range(8)})
    with pytest.raises(NamespaceUnfit, match=r"no room.*10 of Keyword"):
        await prepare_namespace(client)


async def test_a_missing_namespace_is_told(engine: EmbeddedEngine) -> None:
    with pytest.raises(
        NamespaceUnfit, match=r"nowhere does not exist .*namespace create --namespace nowhere"
    ):
        await prepare_namespace(await engine.client(namespace="nowhere"))


async def test_retention_is_raised_and_never_lowered(client: Client) -> None:
    await prepare_namespace(client, retention=timedelta(days=7))
    assert await retention(client) == timedelta(days=7)
    await prepare_namespace(client, retention=timedelta(days=2))
    assert await retention(client) == timedelta(days=7)
    assert await registered(client) == WANTED, "the attributes survived it"
