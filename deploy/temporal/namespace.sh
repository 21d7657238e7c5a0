#!/bin/sh
# Create the namespace. Safe to repeat: one that is there already stays as it is. The CLI reads TEMPORAL_ADDRESS and
# TEMPORAL_NAMESPACE by itself. What jobs need within the namespace, workers and the API add when they start.
set -eu

# wait_for WHAT COMMAND...: until the command succeeds, at most two minutes; then show why it does not.
wait_for() {
    what=$1
    shift
    tries=120
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ]; then
            echo "Gave up waiting for $what:" >&2
            "$@"
            exit 1
        fi
        sleep 1
    done
}

wait_for "the Temporal server at $TEMPORAL_ADDRESS" temporal operator cluster health

if temporal operator namespace describe >/dev/null 2>&1; then
    echo "Namespace $TEMPORAL_NAMESPACE is there already."
    exit 0
fi
# Finished jobs, their results and idempotency keys are kept for the retention.
temporal operator namespace create --retention "${RETENTION:-7d}" --namespace "$TEMPORAL_NAMESPACE"
# The server's caches are a moment behind; who starts after us should find the namespace.
wait_for "the namespace $TEMPORAL_NAMESPACE" temporal workflow count
