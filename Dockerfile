# One image for every service; what differs is the command in docker-compose.yml.
FROM python:3.12-slim

RUN apt-get update \
 && apt-get install -y --no-install-recommends git openssh-client tesseract-ocr tesseract-ocr-spa \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --create-home --home-dir /home/vaultline vaultline \
 && install -d -o vaultline -g vaultline /opt/vaultline /opt/vaultline/dagster /var/lib/vaultline

WORKDIR /opt/vaultline
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY pipelines pipelines
COPY sql sql
RUN pip install --no-cache-dir --constraint constraints.txt . && rm -rf pipelines sql
COPY workspace.yaml ./
COPY --chown=vaultline:vaultline dagster.yaml dagster/dagster.yaml

ENV DAGSTER_HOME=/opt/vaultline/dagster \
    DAGSTER_LOGS=/var/lib/vaultline/logs \
    VAULTLINE_HOME=/var/lib/vaultline \
    PYTHONUNBUFFERED=1
USER vaultline
CMD ["vaultline", "--help"]
