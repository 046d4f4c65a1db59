"""A real cross-encoder, too small to know anything: a BERT of one layer, random and the same every time."""

from pathlib import Path

_WORDS = (
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "valve", "opens", "noon", "forklift", "deployment", "transition",
)  # fmt: skip


def make_cross_encoder(folder: Path) -> Path:
    """Write the model into a folder that sentence-transformers can load; returns the folder."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    (folder / "vocab.txt").write_text("\n".join(_WORDS), encoding="utf-8")
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(_WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        num_labels=1,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder
