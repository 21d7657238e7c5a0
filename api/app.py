"""The API: a thin layer that turns calls into workflow starts and executions into answers.

`uvicorn api.app:app` runs it with settings from the environment; it keeps no state, so run as many as you like.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from temporalio.client import Client

from api import openapi, problems
from api.cross_site import SameSiteOnly
from api.fences import Fences
from api.jobs.manager import Jobs
from api.routes import batch, events, fences, health, jobs, kinds, listing
from api.stopping import when_told_to_stop
from duetime.connection import connect
from duetime.settings import Settings, settings_or_exit

_DESCRIPTION = "A distributed job scheduler on Temporal: durable jobs, at least once, fenced, nothing hidden."


def create_app(settings: Settings, client: Client | None = None) -> FastAPI:
    """The app. With `client` it uses that connection instead of making its own."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Lazy: the API starts while Temporal is away, says so in /readyz, and recovers by itself.
        connection = client or await connect(settings.temporal_target, settings.temporal_namespace, lazy=True)
        app.state.client = connection
        app.state.jobs = Jobs.over(
            connection, f"http://localhost:{settings.ui_port}", strict_kinds=settings.strict_kinds
        )
        async with Fences(settings.ledger_address) as app.state.fences:
            with when_told_to_stop(app.state.jobs.events.close):
                yield
            app.state.jobs.events.close()

    app = FastAPI(
        title="Duetime",
        version="1",
        description=_DESCRIPTION,
        lifespan=lifespan,
        redirect_slashes=False,
        generate_unique_id_function=openapi.operation_name,
    )
    app.add_middleware(SameSiteOnly)
    problems.install(app)
    app.include_router(jobs.router)
    app.include_router(kinds.router)
    app.include_router(listing.router)
    app.include_router(batch.router)
    app.include_router(events.router)
    app.include_router(fences.router)
    app.include_router(health.router)
    openapi.install(app)
    return app


def __getattr__(name: str) -> FastAPI:
    """`app`, made when somebody asks for it: importing this module for its parts reads no settings."""
    if name != "app":
        raise AttributeError(name)
    app = create_app(settings_or_exit())
    globals()["app"] = app
    return app
