"""examples/kubernetes/values.yaml gives pods that Dagster's own launcher would make.

What cannot be tried without a cluster is Helm's rendering and Kubernetes itself. What can is done by dagster-k8s, whose
code turns these values into the Job of a run.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster._config import Shape, process_config
from dagster_k8s import K8sRunLauncher
from dagster_k8s.container_context import K8sContainerContext
from dagster_k8s.job import DagsterK8sJobConfig, construct_dagster_k8s_job

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "examples/kubernetes/values.yaml").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def launcher(values: dict[str, Any]) -> dict[str, Any]:
    """The launcher's part of dagster.yaml, as the chart's template fills it in."""
    told = values["runLauncher"]
    assert told["type"] == "K8sRunLauncher"
    own = dict(told["config"]["k8sRunLauncher"])
    return {
        "load_incluster_config": own["loadInclusterConfig"],
        "image_pull_policy": own["imagePullPolicy"],
        "env_secrets": [secret["name"] for secret in own["envSecrets"]],
        "run_k8s_config": {
            "container_config": own["runK8sConfig"]["containerConfig"],
            "job_spec_config": own["runK8sConfig"]["jobSpecConfig"],
        },
        "service_account_name": "dagster",
        "instance_config_map": "dagster-instance",
        "postgres_password_secret": values["global"]["postgresqlSecretName"],
        "dagster_home": "/opt/dagster/dagster_home",
    }


def test_the_launcher_takes_its_configuration(launcher: dict[str, Any]) -> None:
    told = process_config(Shape(K8sRunLauncher.config_type()), launcher)
    assert told.success, told.errors


def test_a_run_is_a_pod_with_the_settings_the_vault_and_no_rights(
    values: dict[str, Any], launcher: dict[str, Any]
) -> None:
    (deployment,) = values["dagster-user-deployments"]["deployments"]
    assert deployment["includeConfigInLaunchedRuns"] == {"enabled": True}
    context = K8sContainerContext.create_from_config(
        {
            "k8s": {
                "env_secrets": [secret["name"] for secret in deployment["envSecrets"]],
                "env_vars": [f"{name}={value}" for name, value in deployment["env"].items()],
                "volumes": deployment["volumes"],
                "volume_mounts": deployment["volumeMounts"],
                "resources": deployment["resources"],
                "security_context": deployment["securityContext"],
                "run_k8s_config": {"pod_spec_config": {"security_context": deployment["podSecurityContext"]}},
            }
        }
    ).merge(K8sContainerContext.create_from_config({"k8s": {"run_k8s_config": launcher["run_k8s_config"]}}))
    image = "{repository}:{tag}".format(**deployment["image"])
    job = construct_dagster_k8s_job(
        job_config=DagsterK8sJobConfig(
            job_image=image,
            dagster_home=launcher["dagster_home"],
            instance_config_map=launcher["instance_config_map"],
            postgres_password_secret=launcher["postgres_password_secret"],
        ),
        args=["dagster", "api", "execute_run"],
        job_name="run",
        user_defined_k8s_config=context.run_k8s_config,
    ).to_dict()
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == "registry.example.org/vaultline:0.1.0"
    variables = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert variables["VAULTLINE_HOME"] == "/var/lib/vaultline"
    assert {"secret_ref": {"name": "vaultline", "optional": None}, "config_map_ref": None, "prefix": None} in container[
        "env_from"
    ]
    assert "/var/lib/vaultline" in [mount["mount_path"] for mount in container["volume_mounts"]]
    assert pod["security_context"]["run_as_user"] == 10001, "the user of the Dockerfile"
    assert container["security_context"]["capabilities"]["drop"] == ["ALL"]
    assert container["resources"]["limits"]["memory"] == "2Gi"
    assert job["spec"]["ttl_seconds_after_finished"] == 3600


def test_it_agrees_with_the_deployment_on_one_machine(values: dict[str, Any]) -> None:
    instance = yaml.safe_load((ROOT / "dagster.yaml").read_text(encoding="utf-8"))
    queue = values["dagsterDaemon"]["runCoordinator"]["config"]["queuedRunCoordinator"]
    assert queue["tagConcurrencyLimits"] == instance["concurrency"]["runs"]["tag_concurrency_limits"]
    (deployment,) = values["dagster-user-deployments"]["deployments"]
    assert "--location-name" not in deployment["dagsterApiGrpcArgs"], "the chart gives the deployment's name"
    assert deployment["name"] == "vaultline", "the location's name is part of the sensors' identity"
    assert f"uid {deployment['podSecurityContext']['runAsUser']} " in (
        (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("--uid", "uid")
    )
    assert values["postgresql"]["postgresqlScheme"] == "postgresql+psycopg2"
    assert values["telemetry"] == {"enabled": False}
