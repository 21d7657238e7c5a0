"""One API instance: `python -m api`."""

import uvicorn

from api.app import app_or_exit
from api.security.connections import with_places
from duetime.logs import set_up_logs
from duetime.process import run_main, settle
from duetime.settings import Settings, settings_or_exit

#: Seconds between two requests on a connection. More than any client or proxy commonly keeps an idle one, so that it is
#: they who close it: a request that meets our closing fails, and nobody can tell whether it was heard. Python's httpx
#: keeps it for 5 s, proxies and load balancers for 60 s.
IDLE = 75


def config_of(settings: Settings) -> uvicorn.Config:
    """How uvicorn serves the app: HTTP/1.1 on guarded connections, and nothing said about itself."""
    return uvicorn.Config(
        app_or_exit(settings),
        host=settings.api_host,
        port=settings.api_port,
        http=with_places(settings.api_connections),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=10,
    )


async def main() -> int:
    settings = settings_or_exit()
    set_up_logs(settings.log_level, settings.log_format, settings.secrets)
    server = uvicorn.Server(config_of(settings))
    settle()
    await server.serve()
    return 0 if server.started else 1


if __name__ == "__main__":
    run_main(main)
