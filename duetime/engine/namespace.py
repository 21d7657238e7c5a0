"""Make a namespace fit for jobs: the search attributes they carry, and on our own server the retention.

Idempotent, and safe when several processes do it at once. Nothing is ever removed or changed in type.
"""

import asyncio
import time
from collections.abc import Mapping
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, UpdateNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from duetime import attributes
from duetime.engine.errors import NamespaceUnfit

#: How long a server may take until what was added can be used; a cluster refreshes its caches within a
#: minute.
_PROPAGATION = 90.0

#: Name to `IndexedValueType` of everything jobs carry.
WANTED: dict[str, int] = {key.name: int(key.indexed_value_type) for key in attributes.ALL}


async def prepare_namespace(client: Client, *, retention: timedelta | None = None) -> None:
    """Register the search attributes that are missing in the client's namespace, and wait until they work.

    `retention`, when given, is what the namespace keeps closed workflows for at least; meant for the embedded
    server, since on another it is for its operators to decide.

    Raises `NamespaceUnfit` when the namespace does not exist, an attribute exists with another type, the
    server's room for attributes is used up, or we may not add any. Other server errors come as `RPCError`.
    """
    missing = missing_attributes(await _existing(client), client.namespace)
    if missing:
        await _add(client, missing)
        # The server accepts an attribute that exists with another type without a word: look again.
        still = missing_attributes(await _existing(client), client.namespace)
        if still:
            raise NamespaceUnfit(f"the server did not keep the search attributes {', '.join(still)}")
        await _usable(client)
    if retention is not None:
        await _retain(client, retention)


def missing_attributes(existing: Mapping[str, int], namespace: str) -> dict[str, int]:
    """What of `WANTED` is not in `existing`; `NamespaceUnfit` names the ones of another type."""
    for name, kind in WANTED.items():
        if existing.get(name, kind) != kind:
            raise NamespaceUnfit(
                f"search attribute {name} of namespace {namespace} is of type {_type(existing[name])}, jobs "
                f"need {_type(kind)}: remove it if nothing uses it "
                f"(temporal operator search-attribute remove --namespace {namespace} --name {name}), or give "
                "Duetime a namespace of its own with DUETIME_TEMPORAL_NAMESPACE"
            )
    return {name: kind for name, kind in WANTED.items() if name not in existing}


async def _existing(client: Client) -> dict[str, int]:
    request = ListSearchAttributesRequest(namespace=client.namespace)
    try:
        answer = await client.operator_service.list_search_attributes(request)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise NamespaceUnfit(
                f"namespace {client.namespace} does not exist on this Temporal server: create it (temporal "
                f"operator namespace create --namespace {client.namespace} --retention 168h), or set "
                "DUETIME_TEMPORAL_NAMESPACE"
            ) from None
        raise
    return dict(answer.custom_attributes)


async def _add(client: Client, missing: dict[str, int]) -> None:
    request = AddSearchAttributesRequest(namespace=client.namespace)
    for name, kind in missing.items():
        request.search_attributes[name] = IndexedValueType.ValueType(kind)
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS:  # Another process was quicker.
            return
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            raise NamespaceUnfit(
                f"namespace {client.namespace} has no room for the search attributes of jobs "
                f"({error.message}): on an SQL store it has 10 of Keyword and 3 of every other type. Remove "
                "some that nothing uses, or set DUETIME_TEMPORAL_NAMESPACE to one of its own"
            ) from None
        if error.status in (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED):
            wanted = ", ".join(f"{name} ({_type(kind)})" for name, kind in missing.items())
            raise NamespaceUnfit(
                f"we may not add search attributes to namespace {client.namespace} ({error.message}): "
                f"have its operators add {wanted}"
            ) from None
        raise


async def _usable(client: Client) -> None:
    """Wait until the server that answers us takes a query with each attribute: caches lag behind."""
    query = " AND ".join(f"{name} IS NULL" for name in WANTED)
    deadline = time.monotonic() + _PROPAGATION
    while True:
        try:
            await client.count_workflows(query)
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT or time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)
        else:
            return


async def _retain(client: Client, retention: timedelta) -> None:
    service, name = client.workflow_service, client.namespace
    described = await service.describe_namespace(DescribeNamespaceRequest(namespace=name))
    if described.config.workflow_execution_retention_ttl.ToTimedelta() >= retention:
        return  # Somebody wants more, and may.
    wanted = Duration()
    wanted.FromTimedelta(retention)
    config = NamespaceConfig(workflow_execution_retention_ttl=wanted)
    await service.update_namespace(UpdateNamespaceRequest(namespace=name, config=config))


def _type(kind: int) -> str:
    name: str = IndexedValueType.Name(IndexedValueType.ValueType(kind))
    return "".join(part.capitalize() for part in name.removeprefix("INDEXED_VALUE_TYPE_").split("_"))
