"""The API: a thin layer that turns calls into workflow starts and executions into answers.

`uvicorn api.app:app` runs it with settings from the environment; it keeps no state, so run as many as you like.
"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from temporalio.client import Client

from api import openapi, problems
from api.bulk.operations import Operations
from api.cross_site import SameSiteOnly
from api.fences import Fences
from api.head import HeadAsGet
from api.jobs.manager import Jobs
from api.observe.requests import CountRequests
from api.pipelines.manager import Pipelines
from api.queues.manager import Queues
from api.routes import (
    backlog,
    batch,
    bulk,
    doctor,
    events,
    fences,
    health,
    kinds,
    listing,
    metrics,
    operations,
    preview,
    queues,
    schedule_sets,
    why,
)
from api.routes import jobs as job_routes
from api.routes import pipelines as pipeline_routes
from api.routes import schedules as schedule_routes
from api.schedules.manager import Schedules
from api.security.door import Door
from api.security.gate import Gate
from api.security.lock import lock_of
from api.security.rates import Rates, Waits
from api.stopping import when_told_to_stop
from duetime.connection import connect, say_why_not
from duetime.process import EXIT_USAGE, exit_process
from duetime.settings import Settings, SettingsError, settings_or_exit

log = logging.getLogger("duetime.api")

_DESCRIPTION = "A distributed job scheduler on Temporal: durable jobs, at least once, fenced, nothing hidden."


def create_app(settings: Settings, client: Client | None = None) -> FastAPI:
    """The app. With `client` it uses that connection instead of making its own.

    Raises `SettingsError` for a lock that is not safe, or cannot be read.
    """
    lock = lock_of(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Lazy: the API starts while Temporal is away, says so in /readyz, and recovers by itself.
        connection = client or await connect(settings.temporal, lazy=True)
        app.state.client = connection
        ui_url = f"http://localhost:{settings.ui_port}"
        jobs = app.state.jobs = Jobs.over(connection, ui_url, strict_kinds=settings.strict_kinds)
        pipelines = app.state.pipelines = Pipelines.over(connection, ui_url, jobs)
        app.state.schedules = Schedules.over(connection, ui_url, jobs)
        app.state.queues = Queues.over(connection, jobs.known)
        app.state.operations = Operations(connection, ui_url)
        log.log(logging.WARNING if lock.is_for_strangers else logging.INFO, lock.describe())
        app.state.looking = asyncio.create_task(say_why_not(connection, settings.temporal))
        async with Fences(settings.ledger_address) as app.state.fences:
            with when_told_to_stop(jobs.events.close), when_told_to_stop(pipelines.events.close):
                yield
            jobs.events.close()
            pipelines.events.close()
        app.state.looking.cancel()

    app = FastAPI(
        title="Duetime",
        version="1",
        description=_DESCRIPTION,
        lifespan=lifespan,
        redirect_slashes=False,
        generate_unique_id_function=openapi.operation_name,
    )
    app.state.gate = Gate(lock, Rates(settings.api_rate), Waits(settings.api_waits))
    app.add_middleware(HeadAsGet)
    app.add_middleware(SameSiteOnly)
    app.add_middleware(Door, lock=lock, names=settings.api_names)  # the outer of the two
    problems.install(app)
    app.include_router(job_routes.router)
    app.include_router(kinds.router)
    app.include_router(listing.router)
    app.include_router(batch.router)
    app.include_router(bulk.router)
    app.include_router(operations.router)
    app.include_router(events.router)
    app.include_router(pipeline_routes.router)
    app.include_router(schedule_routes.router)
    app.include_router(queues.router)
    app.include_router(backlog.router)
    app.include_router(why.router)
    app.include_router(preview.router)
    app.include_router(schedule_sets.router)
    app.include_router(doctor.router)
    app.include_router(fences.router)
    app.include_router(health.router)
    app.include_router(metrics.router)
    app.add_middleware(CountRequests)  # the outermost: it counts refusals too
    openapi.install(app)
    return app


def __getattr__(name: str) -> FastAPI:
    """`app`, made when somebody asks for it: importing this module for its parts reads no settings."""
    if name != "app":
        raise AttributeError(name)
    app = app_or_exit(settings_or_exit())
    globals()["app"] = app
    return app


def app_or_exit(settings: Settings) -> FastAPI:
    """`create_app` for main programs: what is not safe is printed, and the process ends with code 2."""
    try:
        return create_app(settings)
    except SettingsError as error:
        print(error, file=sys.stderr)
        exit_process(EXIT_USAGE)
