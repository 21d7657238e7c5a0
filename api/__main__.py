"""One API instance: `python -m api`."""

import uvicorn

from api.app import create_app
from duetime.logs import set_up_logs
from duetime.process import run_main
from duetime.settings import settings_or_exit


async def main() -> int:
    settings = settings_or_exit()
    set_up_logs(settings.log_level, settings.log_format, settings.secrets)
    config = uvicorn.Config(
        create_app(settings),
        host=settings.api_host,
        port=settings.api_port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=10,
    )
    server = uvicorn.Server(config)
    await server.serve()
    return 0 if server.started else 1


if __name__ == "__main__":
    run_main(main)
