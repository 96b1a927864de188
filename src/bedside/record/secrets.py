"""Passwords, keys and tokens are struck out before anything is written down: records are shared.

Two things give a secret away: what it is called (`--api-key X`, `{"password": X}`) and what it looks like (`hf_…`,
`user:password@host`, a long random word). Both are judged harshly: a harmless value that is lost costs a reader a
guess, a secret that is kept costs its owner much more.

>>> command_line(["python", "train.py", "--lr", "0.1", "--api-key=abc", "--hub-token", "xyz"])
"python train.py --lr 0.1 '--api-key=***' --hub-token '***'"
>>> without_secrets({"lr": 0.1, "db": {"password": "abc", "max_tokens": 512}})
{'lr': 0.1, 'db': {'password': '***', 'max_tokens': 512}}
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from bedside.errors import pass_on_interrupts

STRUCK = "***"
MAX_VALUE_LENGTH = 10_000  # characters of a value: what is longer is not a setting
PAIR = 2  # a name and its value
DEEPEST = 20  # levels of a configuration: what lies deeper is left out

# Words of a name, and beginnings of words, that say that its value is nobody's business.
WORDS = frozenset(
    """access api key keys apikey auth oauth bearer cookie cookies dsn hmac jwt licence license login mfa mnemonic nonce
    otp pas pat phrase pin private psswd psw pw pwd pword salt sas session sessionid sid sig signature ssh ssn tok token
    tokens totp user username webhook kennwort mdp parola salasana senha wachtwoord""".split()
)
LOOKALIKES = ("CYRILLIC", "GREEK", "ARMENIAN")  # alphabets whose letters look like Latin ones
CORES = ("apikey", "token", "passw", "secret")  # however a name is cut into words: `--to-ken`
BEGINNINGS = ("authori", "authent", "cert", "connection", "cred", "pass", "secret", "token", "accesskey", "apikey")
ENDINGS = ("key", "token", "secret", "password", "passwd", "pass")  # `sshkey`, `mytoken`, `pgpass`
ORDINARY = frozenset(
    "donkey hockey hotkey jockey monkey turkey whiskey bandpass bypass compass highpass lowpass multipass".split()
)
ELSEWHERE = tuple(
    "пароль токен ключ секрет clé contraseña schlüssel hasło 密码 密碼 密钥 令牌 パスワード 비밀번호".split()
)
SHORT = ("-p", "-k", "-u", "-P", "--p", "--k")  # password, key and user, as ever
CALLS_IT = ("name", "key", "k", "field", "option", "setting", "parameter", "variable", "header")  # {"name": "token", …}
# Names that only look like it, everywhere in the training of language models.
HARMLESS = re.compile(
    r"(?i)tokeni[sz]|(max|min|num|n|total|per|new|special|prompt|seq)[-_]?tokens?$|tokens?[-_]?(per|len)"
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHAPES = re.compile(
    r"""(?x)
    \b(?:hf|ghp|gho|ghu|ghs|ghr|github_pat|glpat|npm|pypi|dop_v1|shpat|r8|nvapi|lsv2_pt|tskey|whsec|sk|pk|rk|xox[a-z])[-_]\S+
    | \b(?:AKIA|ASIA|AIza|ya29\.|eyJ|SG\.)\S+                          # AWS, Google, JSON web tokens, SendGrid
    | \b(?:hvs|dp\.[a-z]{2})\.\S+ | \b(?:ntn|figd|shpss|lin_api)_\S+   # Vault, Doppler, Notion, Figma, Shopify, Linear
    | \b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b                  # a UUID is a key as often as a name
    | -----BEGIN
    | \b(?:bearer|basic|digest|token)[\s:]+\S+
    | ://[^/\s]*@                                                      # user:password@host
    | ^[^\s/@]+:[^\s@]+@\S                                             # the same without a protocol
    | \?\S*=                                                           # what follows the ? of an address
    """,
    re.IGNORECASE,
)
_RANDOM = re.compile(r"(?=[A-Za-z+/=]*\d)(?=[\d+/=]*[A-Za-z])[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+=]{32,}")
_OPTION = re.compile(r"--?[^\W\d_][\w.-]{0,60}")
_SHORT = re.compile(r"-[A-Za-z]{1,4}|-\d*\.?\d+([eE][-+]?\d+)?")
# A name without dashes (`opts MODEL.TOKEN X`, not a script's), or one whose letters are not what they seem.
_BARE = re.compile(r"[@/]?(?!\S*\.py$)[\w.-]{1,80}|-\S{1,80}")
_ASSIGNED = re.compile(r"[-+~]{0,2}[\w./@-]{1,80}")


def is_secret_name(name: str) -> bool:
    """Whether what is called this should stay with its owner.

    >>> [is_secret_name(name) for name in ("apiKey", "HF_TOKEN", "db.passwd", "max_tokens", "tokenizer", "monkey")]
    [True, True, True, False, False, False]
    """
    plain = unicodedata.normalize("NFKC", name)
    if not all(map(str.isprintable, plain)):
        return True  # a letter that nobody sees is there to deceive
    if HARMLESS.search(plain):
        return False
    words = [word.lower() for word in _WORD.findall(plain)]
    joined = "".join(words)
    if any(core in joined for core in CORES) or any(word in name.lower() for word in ELSEWHERE):
        return True
    if re.search(r"(?i)\b2fa\b", plain) or _mixes_alphabets(plain):
        return True
    return any(
        word in WORDS or word.startswith(BEGINNINGS) or (word.endswith(ENDINGS) and word not in ORDINARY)
        for word in words
    )


def _mixes_alphabets(name: str) -> bool:
    """`tоken` with a Cyrillic letter reads like a word of ours."""
    letters = [letter for letter in name if letter.isalpha()]
    return any(map(str.isascii, letters)) and any(unicodedata.name(each, "").startswith(LOOKALIKES) for each in letters)


def looks_secret(text: str) -> bool:
    """Whether a text holds something that looks like a secret, whatever it is called.

    >>> looks_secret("runs/2026-11-18/resnet50_imagenet.pt"), looks_secret("https://me:pw@host/x")
    (False, True)
    """
    if len(text) > MAX_VALUE_LENGTH or _SHAPES.search(text):
        return True
    if any(_RANDOM.fullmatch(piece) for piece in re.split(r"[-_.,:;/@&?\s'\"(){}\[\]]", text)):
        return True
    return bool(re.search(r"[\s{:=<]", text)) and any(is_secret_name(word) for word in re.findall(r"[\w-]+", text))


def without_secrets(value: Any, depth: int = 0) -> Any:
    """A configuration with what is called or looks like a secret struck out."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, bytes) or depth >= DEEPEST:
        return STRUCK
    if isinstance(value, Mapping):
        named = any(key in CALLS_IT and _names_a_secret(each) for key, each in value.items())
        if named:  # {"name": "token", "value": X}
            return {key: each if key in CALLS_IT else STRUCK for key, each in value.items()}
        return {
            key: STRUCK if is_secret_name(str(key)) and _says_something(each) else without_secrets(each, depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        after = [None, *value]  # of each element, the one before it: ["--token", X], or one pair of ["token", X]
        pair = len(after) == PAIR + 1
        return [
            STRUCK if _precedes_a_secret(before, pair) else without_secrets(each, depth + 1)
            for before, each in zip(after, value, strict=False)
        ]
    try:
        text = str(value)  # whatever it is, this is what would be kept of it
    except Exception as error:  # somebody else's code
        pass_on_interrupts(error)
        return STRUCK
    return STRUCK if looks_secret(text) else value


def _names_a_secret(word: Any) -> TypeGuard[str]:
    return isinstance(word, str) and bool(_ASSIGNED.fullmatch(word)) and is_secret_name(word)


def _precedes_a_secret(before: Any, pair: bool) -> bool:
    return (isinstance(before, str) and before in SHORT) or (
        _names_a_secret(before) and (pair or before.startswith("-"))
    )


def _says_something(value: Any) -> bool:
    """`token: null` and `use_auth: false` tell nothing that is worth hiding; a number may be a password."""
    return not (value is None or isinstance(value, bool) or (isinstance(value, (str, list, dict)) and not value))


def command_line(arguments: Sequence[str]) -> str:
    """The command as it was typed, without what may be a secret."""
    shown: list[str] = []
    hide = False  # what follows belongs to an option that is called like a secret
    code = False  # what follows is a program, which may hold anything
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if code:
            shown.append(STRUCK)
            code = False
        elif equals and _ASSIGNED.fullmatch(name) and not looks_secret(name):
            secret = is_secret_name(name) or name in SHORT
            hide = secret and not value  # `--password= abc`
            shown.append(f"{name}={STRUCK}" if secret or _hides_something(value) else argument)
        elif _OPTION.fullmatch(argument) and not (hide and not argument.startswith("--")):
            code = argument == "-c"
            hide = is_secret_name(argument) or argument in SHORT
            known = argument.startswith("--") or _SHORT.fullmatch(argument)
            shown.append(f"{argument[:2]}{STRUCK}" if not known or looks_secret(argument) else argument)
        else:
            shown.append(STRUCK if hide or _hides_something(argument) else argument)
            hide = hide or argument.lower() == "basic" or bool(_BARE.fullmatch(argument) and is_secret_name(argument))
    return shlex.join(shown)


def _hides_something(value: str) -> bool:
    """A value may be an assignment itself: `--env API_KEY=abc`, `-H 'X-Api-Key: abc'`."""
    name, separator, _ = value.partition("=")
    return looks_secret(value) or bool(separator and is_secret_name(name))
