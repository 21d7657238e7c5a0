"""Checks of a Temporal server and of our namespace on it, by a client alone."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeNamespaceResponse,
    GetSystemInfoRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from duetime.contracts.duration import format_duration
from duetime.doctor.clock import clock
from duetime.doctor.findings import Finding, error, ok, warning
from duetime.engine.errors import NamespaceUnfit
from duetime.engine.namespace import missing_attributes

#: The oldest server that does all that we ask of it: limits of queues, signs of life of workers, resets of activities.
OLDEST_SERVER = (1, 29)
#: What a namespace has room for on an SQL store (https://docs.temporal.io/search-attribute).
_ROOM = {"Keyword": 10}
_ROOM_OF_OTHERS = 3
_SHORT_RETENTION = timedelta(days=3)


async def examine_server(client: Client) -> list[Finding]:
    """Whether the server answers and fits, what our namespace has, and what its clock says."""
    try:
        info = await client.workflow_service.get_system_info(
            GetSystemInfoRequest(), timeout=timedelta(seconds=5)
        )
    except (RPCError, RuntimeError) as fault:
        return [unreachable(client.service_client.config.target_host, str(fault))]
    found = [version(info.server_version)]
    try:
        described = await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=client.namespace)
        )
    except RPCError as fault:
        return [*found, _no_namespace(client.namespace, fault)]
    found += [retention(described.config.workflow_execution_retention_ttl.ToTimedelta()), _signs(described)]
    return found + [
        finding for part in await asyncio.gather(_attributes(client), clock(client)) for finding in part
    ]


def unreachable(address: str, why: str) -> Finding:
    """Nothing else can be looked at then."""
    fix = (
        "start it (make run, or docker compose up), or correct DUETIME_TEMPORAL_ADDRESS and what goes with it"
    )
    return error("server", f"no Temporal server answers at {address}: {why}", fix)


def version(told: str) -> Finding:
    """`told` is as `1.32.0`."""
    parts = told.split(".")
    known = tuple(int(part) for part in parts[:2]) if all(part.isdecimal() for part in parts[:2]) else None
    if known is not None and known < OLDEST_SERVER:
        oldest = ".".join(map(str, OLDEST_SERVER))
        says = f"Temporal {told} answers, which is older than {oldest}: pauses, rates and signs of life may not work"
        return warning("server", says, "upgrade the Temporal server")
    return ok("server", f"Temporal {told or 'of no known version'} answers")


def _no_namespace(namespace: str, fault: RPCError) -> Finding:
    fix = f"temporal operator namespace create --namespace {namespace} --retention 168h"
    if fault.status is RPCStatusCode.NOT_FOUND:
        return error("namespace", f"the namespace {namespace} does not exist", fix)
    return error(
        "namespace", f"the namespace {namespace} cannot be read: {fault.message}", "ask for access to it"
    )


def retention(kept: timedelta) -> Finding:
    """How long finished jobs are kept, and with them the idempotency keys."""
    says = f"finished jobs and their idempotency keys are kept for {format_duration(kept)}"
    if kept < _SHORT_RETENTION:
        fix = "temporal operator namespace update --retention 168h: repeating a call is safe for as long"
        return warning("retention", says, fix)
    return ok("retention", says)


def _signs(described: DescribeNamespaceResponse) -> Finding:
    if described.namespace_info.capabilities.worker_heartbeats:
        return ok("signs-of-life", "the server keeps signs of life of workers")
    fix = "upgrade the Temporal server; until then a worker that died is told by its polls, 70 s later"
    return warning("signs-of-life", "the server keeps no signs of life of workers", fix)


async def _attributes(client: Client) -> list[Finding]:
    try:
        answer = await client.operator_service.list_search_attributes(
            ListSearchAttributesRequest(namespace=client.namespace)
        )
    except RPCError as fault:
        fix = "check them by hand: temporal operator search-attribute list"
        return [warning("search-attributes", f"they cannot be read ({fault.message})", fix)]
    return attributes(dict(answer.custom_attributes), client.namespace)


def attributes(existing: Mapping[str, int], namespace: str) -> list[Finding]:
    """Whether jobs find the attributes that they carry, and whether there is room for more."""
    try:
        missing = missing_attributes(existing, namespace)
    except NamespaceUnfit as fault:
        return [error("search-attributes", str(fault), "see above")]
    if missing:
        says = f"the namespace lacks {', '.join(missing)}: jobs are refused, or cannot be found"
        return [
            error("search-attributes", says, "start a worker, which adds them, or let the server's operators")
        ]
    used = Counter(_type(kind) for kind in existing.values())
    full = [kind for kind, count in used.items() if count >= _ROOM.get(kind, _ROOM_OF_OTHERS)]
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(used.items()))
    found = [ok("search-attributes", f"all that jobs carry are there ({counted} in use)")]
    if full:
        says = f"no room for another search attribute of type {', '.join(full)} on an SQL store ({counted} in use)"
        fix = "remove some that nothing uses before a version of Duetime needs one more"
        found.append(warning("search-attribute-room", says, fix))
    return found


def _type(kind: int) -> str:
    name = IndexedValueType.Name(IndexedValueType.ValueType(kind)).removeprefix("INDEXED_VALUE_TYPE_")
    return "".join(part.capitalize() for part in name.split("_"))
