#!/bin/sh
# What a forge's webhook, or a CI job after a merge, runs to have a push indexed at once: starts the job `fetch` by the
# webserver's GraphQL; the sensor `git` then starts the run for what the push changed. Dagster's webserver has no login:
# reach it through the proxy that has one, and give that one's credentials to curl (for example by --netrc).
set -eu
: "${DAGSTER_URL:=http://127.0.0.1:3000}" "${LOCATION:=vaultline}"
curl --fail --silent --show-error "$DAGSTER_URL/graphql" -H 'Content-Type: application/json' -d '{
  "query": "mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }",
  "variables": {"p": {"mode": "default", "selector": {"jobName": "fetch", "repositoryName": "__repository__", "repositoryLocationName": "'"$LOCATION"'"}, "runConfigData": "{}"}}
}'
echo
