"""What every worker imports. On each machine, with this folder on PYTHONPATH and the environment of dagster.yaml:

    celery --app dagster_celery.app worker --queues dagster --concurrency 1 --max-tasks-per-child 50

`--concurrency` is how many runs the machine works on at once; a local model wants no more than one for two cores.
"""

import os

broker_url = os.environ["CELERY_BROKER_URL"]
result_backend = os.environ["CELERY_RESULT_BACKEND"]
worker_prefetch_multiplier = 1  # a run waits for a free worker, not behind a long one
task_acks_late = True
broker_connection_retry_on_startup = True
