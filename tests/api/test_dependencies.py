"""What stands between a request and its endpoint runs on the event loop."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from fastapi import APIRouter
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

import api.routes


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(api.routes.__path__):
        yield importlib.import_module(f"api.routes.{found.name}")


def routes() -> list[APIRoute]:
    routers = [
        module.router for module in modules() if isinstance(getattr(module, "router", None), APIRouter)
    ]
    return [route for router in routers for route in router.routes if isinstance(route, APIRoute)]


def below(dependant: Dependant) -> Iterator[Dependant]:
    for dependency in dependant.dependencies:
        yield dependency
        yield from below(dependency)


def is_coroutine(call: object) -> bool:
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(call.__call__)


def test_no_dependency_costs_a_thread() -> None:
    """FastAPI hands a dependency that is a plain function to a thread and waits for it, once for each request."""
    assert len(routes()) > 40
    plain = {
        f"{route.path}: {dependency.call}"
        for route in routes()
        for dependency in below(route.dependant)
        if not is_coroutine(dependency.call)
    }
    assert plain == set()
