"""Small trainers of transformers and TRL: `make_trainer("sft", accumulation=2)`; as a script it trains one and leaves
what the Trainer logged in a JSON file."""

from __future__ import annotations

import copy
import json
import sys
import warnings
from typing import Any

KINDS = ("trainer", "sft", "dpo")
STEPS, CLIP, WORDS, LENGTH = 12, 0.3, 32, 12


def make_trainer(kind: str, accumulation: int, steps: int = STEPS, **options: Any) -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_positions=64, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0, pad_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    common = {
        "output_dir": "out",
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": accumulation,
        "max_steps": steps,
        "logging_steps": 1,
        "learning_rate": 1e-2,
        "max_grad_norm": CLIP,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
        "remove_unused_columns": kind != "trainer",
    }
    # Samples of different lengths: micro-batches have different numbers of tokens, as they do in practice.
    lengths = torch.randint(4, LENGTH, (96,)).tolist()
    starts = torch.randint(WORDS, (96,)).tolist()
    ids = [[(start + i) % (WORDS - 1) + 1 for i in range(n)] for start, n in zip(starts, lengths, strict=True)]
    if kind == "trainer":
        rows = [{"input_ids": each + [0] * (LENGTH - len(each))} for each in ids]
        for row in rows:
            row["labels"] = [token or -100 for token in row["input_ids"]]
        args = transformers.TrainingArguments(**common)
        return transformers.Trainer(model, args, train_dataset=rows, **options)
    return _trl(kind, model, common, ids, options)


def _trl(kind: str, model: Any, common: dict[str, Any], ids: list[list[int]], options: dict[str, Any]) -> Any:
    import datasets
    import trl

    tokenizer = _tokenizer()
    texts = [" ".join(f"w{i}" for i in each) for each in ids]
    if kind == "sft":
        dataset = datasets.Dataset.from_dict({"text": texts})
        args = trl.SFTConfig(**common, max_length=16)
        return trl.SFTTrainer(model, args=args, train_dataset=dataset, processing_class=tokenizer, **options)
    backwards = [" ".join(f"w{i}" for i in reversed(each)) for each in ids]
    prompts = [f"w{each[0]} " for each in ids]
    dataset = datasets.Dataset.from_dict({"prompt": prompts, "chosen": texts, "rejected": backwards})
    args = trl.DPOConfig(**common, max_length=32)
    start = copy.deepcopy(model)
    return trl.DPOTrainer(model, start, args, train_dataset=dataset, processing_class=tokenizer, **options)


def _tokenizer() -> Any:
    import tokenizers
    import transformers

    words = {"<pad>": 0, **{f"w{i}": i for i in range(1, WORDS)}}
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<pad>"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="<pad>")


def logged(trainer: Any) -> list[dict[str, float]]:
    """What the Trainer itself says about each step."""
    return [each for each in trainer.state.log_history if "grad_norm" in each]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for number in map(int, sys.argv[2:]):
        trained = make_trainer(sys.argv[1], number)
        trained.train()
        with open(f"accumulation_{number}.json", "w") as file:
            json.dump(logged(trained), file)
