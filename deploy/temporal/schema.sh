#!/bin/sh
# Create Temporal's two databases and bring their schemas up to the version of this image. Safe to repeat: what is
# there already stays. The SQL_* variables say where (https://docs.temporal.io/self-hosted-guide/upgrade-server).
set -eu

for database in temporal temporal_visibility; do
    schema=/etc/temporal/schema/postgresql/v12/${database#temporal_}/versioned
    temporal-sql-tool --database "$database" create-database
    temporal-sql-tool --database "$database" setup-schema --version 0.0
    temporal-sql-tool --database "$database" update-schema --schema-dir "$schema"
done
