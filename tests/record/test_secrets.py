"""No way to pass a secret ends in a record; what is not a secret stays."""

from __future__ import annotations

import pytest

from bedside.record.secrets import STRUCK, command_line, looks_secret, without_secrets

X = "Xq7secretZz"
HF, SK = "hf_AbCdEfGhIjKlMnOpQrStUvWx", "sk-proj-abcdefABCDEF0123456789"

WAYS = [
    ["-p", X],
    ["-k", X],
    ["--set", "wandb.api_key", X],
    ["opts", "MODEL.TOKEN", X],
    ["/password", X],
    ["--header", "basic:" + X],
    ["-u", "me", X],
    ["--tok", X],
    ["--sshkey", X],
    ["--mysecret", X],
    ["--url", "x", "Bearer", X],
    ["--пароль", X],
    ["ТОКЕН=" + X],
    ["--clé", X],
    ["--contraseña=" + X],
    ["--密码", X],
    ["--key", X],
    ["--api-key", X],
    ["--api-key=" + X],
    ["--apikey", X],
    ["--apiKey=" + X],
    ["--auth=" + X],
    ["--auth", X],
    ["--password", X],
    ["--password", "-" + X],
    ["--passwd=" + X],
    ["--pwd", X],
    ["--pass", X],
    ["-p" + X],
    ["--token", X],
    ["--hub_token=" + X],
    ["--wandb-key", X],
    ["--secret", X],
    ["--client.secret=" + X],
    ["+trainer.logger.api_key=" + X],
    ["API_KEY=" + X],
    ["--env", "API_KEY=" + X],
    ["--credentials", X],
    ["--access_key_id", X, "--secret_access_key", X],
    ["--keys", X, X],
    ["-H", "Authorization: Bearer " + X],
    ["-H", "X-Api-Key: " + X],
    ["--header=Authorization: Basic " + X],
    ["Bearer " + X],
    ["--db", "postgres://user:" + X + "@host/db"],
    ["--db", "user:" + X + "@host"],
    ["--data", "https://store/x?sig=" + X],
    ["--data", "https://store/x?X-Amz-Signature=" + X + "&a=b"],
    ["--config", '{"password": "' + X + '"}'],
    ["--config", "{'lr': 1, 'api_key': '" + X + "'}"],
    [HF],
    ["--hub", HF],
    [SK],
    ["--openai", SK],
    ["ghp_0123456789abcdefghijABCDEFGHIJ012345"],
    ["AKIAIOSFODNN7EXAMPLE"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc"],
    ["0123456789abcdef0123456789abcdef01234567"],
    ["-c", f"login('{X}')"],
    ["--cookie", X],
    ["--session-id", X],
    ["--webhook", "https://hooks/services/T000/B000/" + X + "12345678"],
    ["--dsn=" + X],
    ["--username", X],
    ["--pgpass", X],
    ["--to-ken", X],
    ["--psw", X],
    ["--kennwort", X],
    ["--senha", X],
    ["--totp", X],
    ["--2fa", X],
    ["--hmac", X],
    ["--license", X],
    ["--access", X],
    ["--seed-phrase", X, X, X],
    ["--mnemonic", X],
    ["--p", X],
    ["--k=" + X],
    ["-P", X],
    ["token", X],
    ["password", X],
    ["@token", X],
    ["pw", "=", X],
    ["password=", X],
    ["--password=", X],
    ["--env", "WANDB_API_KEY", X],
    ["--header", "Cookie", X],
    ["--x", "Authorization", X],
    ["--kwargs", "<token>" + X + "</token>"],
    ["--vault", "hvs." + X],
    ["--linear", "lin_api_" + X],
    ["--heroku", "0123456789abcdef-e89b-12d3-a456-426614174000"[8:], "--token", X],
    ["--ＴＯＫＥＮ", X],
    ["--t\u200boken", X],
    ["--t\u043eken", X],
]


@pytest.mark.parametrize("typed", WAYS, ids=lambda way: " ".join(way)[:40])
def test_no_way_to_pass_a_secret_on_the_command_line_is_kept(typed: list[str]) -> None:
    shown = command_line(["python", "train.py", *typed, "--lr", "0.1"])
    for secret in (X, HF, SK, "ghp_0123", "AKIA", "eyJ", "0123456789abcdef"):
        assert secret not in shown
    assert STRUCK in shown
    assert shown.endswith("--lr 0.1")
    assert shown.startswith("python train.py ")


def test_what_is_no_secret_is_kept_as_it_was_typed() -> None:
    typed = (
        "python -m torch.distributed.run token_train.py conf.yaml --lr 3e-4 --batch_size=64 --max_tokens 512 "
        "--max-new-tokens=20 "
        "--tokenizer gpt2 --model meta-llama/Llama-3.1-8B --data runs/2026-11-18_06-10/data.csv -n 4 -lr 0.1 "
        "optimizer.lr=0.1 +model.depth=12 --resume checkpoints/epoch=3-step=1000.ckpt --seed -1 --betas 0.9 0.999 "
        "--num_keypoints 17 --activation relu --filter bandpass -a resnet18"
    )
    assert command_line(typed.split()) == typed


def test_values_of_a_configuration_that_are_named_or_look_like_secrets_are_struck_out() -> None:
    given = {
        "lr": 0.1,
        "api_key": X,
        "wandb": {"token": X, "project": "mnist", "nested": [{"password": 12345}, HF]},
        "url": f"https://me:{X}@host/x",
        "max_tokens": 512,
        "tokenizer": "gpt2",
        "authors": "A. Turing",
        "raw": X.encode(),
        "layers": (64, 64),
    }
    kept = without_secrets(given)
    assert X not in repr(kept)
    assert HF not in repr(kept)
    assert kept["wandb"]["nested"][0] == {"password": STRUCK}
    assert {name: kept[name] for name in ("lr", "max_tokens", "tokenizer", "layers")} == {
        "lr": 0.1,
        "max_tokens": 512,
        "tokenizer": "gpt2",
        "layers": [64, 64],
    }


@pytest.mark.parametrize(
    "given",
    [
        {"name": "token", "value": X},
        [["token", X]],
        [("password", X), ("lr", 0.1)],
        {"argv": ["--lr", "0.1", "--token", X]},
        {"пароль": X},
        {"field": "password", "content": X},
        {"k": "password", "v": X},
        ["-p", X],
    ],
    ids=str,
)
def test_a_value_whose_name_stands_beside_it_is_struck_out(given: object) -> None:
    assert X not in repr(without_secrets(given))


def test_lists_of_names_are_kept() -> None:
    given = {
        "columns": ["token", "label", "length"],
        "layer": {"name": "conv", "value": 3},
        "animals": ["monkey", "ox"],
    }
    assert without_secrets(given) == given


def test_a_configuration_that_holds_itself_ends() -> None:
    loop: dict[str, object] = {"lr": 0.1}
    loop["self"] = loop
    assert without_secrets(loop)["lr"] == 0.1


@pytest.mark.parametrize("text", ["resnet50", "2026-11-18_06-10-00", "runs/a/b.csv", "wmt14_en_de", "cuda:0", "1e-3"])
def test_ordinary_words_are_no_secrets(text: str) -> None:
    assert not looks_secret(text)
